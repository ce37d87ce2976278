"""Kubernetes' libraries; the answers are the API server's."""

from __future__ import annotations

from typing import Any

import pytest

from webhook.cel import Budget, CompileError, Declarations, EvaluationError, compile_expression, encode_tagged


def evaluate(text: str) -> Any:
    return compile_expression(text, Declarations()).evaluate({}, Budget(1_000_000))


@pytest.mark.parametrize(
    "text",
    [
        "quantity('1Gi').compareTo(quantity('1024Mi')) == 0",
        "quantity('500m').isLessThan(quantity('1')) && quantity('1000m') == quantity('1')",
        "!quantity('1000m').isInteger() && quantity('1k').asInteger() == 1000",
        "!isQuantity('200K') && isQuantity('1.5e3') && quantity('Mi').compareTo(quantity('0')) == 0",
        "quantity('50k').add(20).sub(quantity('100k')).sub(-50000) == quantity('20')",
        "quantity('1e3').sub(-9223372036854775808).isLessThan(quantity('-1E'))",  # as Go negates the least int64 to itself
        "'%.300f'.format([1.5]).size() == 46 && '%.40000f'.format([0.1]).size() == 66 && '%.65556e'.format([1.5]).size() == 20",
        "'%.10000009f'.format([1.5]).startsWith('1.5') && '%.10000010f'.format([1.5]) == '%!(NOVERB)'",
        "'%.9223372036854775807e'.format([double('NaN')]) == '%!(NOVERB)' && '%.383f'.format([1e-100]).endsWith('59375')",
        "isQuantity('1e5000') && quantity('1e4294967296') == quantity('1') && quantity('1e-4294967293') == quantity('1k')",
        "quantity('1E').sub(quantity('1.50')).asApproximateFloat() == 1e18",
        r"'\u0378'.matches('\\pC') && !'\u0378'.matches('\\P{C}') && 'a\u0378'.findAll('[\\PC]') == ['a']",
        r"'\u0378'.matches('\\p{Cn}') && 'a'.matches('\\p{latin}')",
        r"'a'.matches('\\p{Letter}') && 'a'.matches('\\p{lowercase_letter}') && 'a'.matches('[\\p{LC}1]')",
        r"'\\pC'.matches('^\\Q\\pC\\E$') && !'1'.matches('\\p{LC}') && '1'.matches('\\P{^digit}') && 'a'.matches('\\pl')",
        "sign(quantity('-1')) == -1 && quantity('0.1').asApproximateFloat() == 0.1",
        "ip('::1').isLoopback() && ip('2001:db8::1').isGlobalUnicast() && ip('10.0.0.1').family() == 4",
        "!isIP('1.2.3') && !isIP('01.2.3.4') && !isIP('fe80::1%eth0') && !isIP('::ffff:1.2.3.4')",
        "!ip.isCanonical('2001:DB8::1') && string(ip('2001:DB8::0:1')) == '2001:db8::1'",
        "cidr('10.0.0.0/8').containsIP('10.1.2.3') && !cidr('10.0.0.0/8').containsCIDR('10.0.0.0/7')",
        "cidr('192.168.1.5/24').masked() == cidr('192.168.1.0/24') && !isCIDR('10.0.0.0/33')",
        "isURL('https://example.com/x') && isURL('/abs') && !isURL('no url') && !isURL('http://h:port/')",
        "url('https://u@h.com:8/p%20q?a=1&a=2').getQuery() == {'a': ['1', '2']}",
        "url('https://[::1]:80/').getHostname() == '::1' && url('https://e.com/a b').getEscapedPath() == '/a%20b'",
        "semver('1.2.3-rc.1').isLessThan(semver('1.2.3')) && isSemver('v1.0', true) && !isSemver('v1.0')",
        "!format.dns1123Label().validate('a-b').hasValue() && format.dns1123Label().validate('A').hasValue()",
        "format.named('labelValue').value().validate('a b').hasValue() && !format.named('nope').hasValue()",
        "!format.date().validate('2024-02-29').hasValue() && format.date().validate('2023-02-29').hasValue()",
        "'123 abc 456'.findAll('[0-9]+') == ['123', '456'] && 'abc'.find('x*') == ''",
        "'aXbX'.replace('X', '-', 1) == 'a-bX' && 'ab'.replace('', '-') == '-a-b-'",
        "'a,b,c'.split(',', 2) == ['a', 'b,c'] && 'é😀'.split('') == ['é', '😀'] && 'a'.split(',', 0) == []",
        "'tacocat'.indexOf('a', 30) == -1 && 'tacocat'.lastIndexOf('a') == 5 && ''.indexOf('', 3) == 0",
        "sets.contains([1, 2, 3], [1, 1]) && sets.equivalent([1, 2], [2, 1, 1]) && !sets.intersects([1], [])",
        "[1, 2, 3].sum() == 6 && [1.5, 2.5].max() == 2.5 && ['b', 'a'].min() == 'a' && [1, 2].isSorted()",
        "[[1], [2, 3]].flatten() == [1, 2, 3] && [2, 1, 2].distinct() == [2, 1] && lists.range(3) == [0, 1, 2]",
        "[1, 2, 3].slice(1, 2) == [2] && [1].first().value() == 1 && ![].last().hasValue()",
        "strings.quote('a\"b') == '\"a\\\\\"b\"' && ['a', 'b'].join('-') == 'a-b'",
        "'%s %d %.2f %x'.format(['a', 3, 1234.5, 255]) == 'a 3 1,234.50 ff'",
        "'%s'.format([[1, 'a', 2.5, duration('1s')]]) == '[1, \"a\", 2.500000, duration(\"1s\")]'",
    ],
)
def test_a_statement_holds(text: str) -> None:
    assert evaluate(text) is True


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("quantity('x')", "quantities must match the regular expression"),
        (
            "ip('1.2.3')",
            'IP Address "1.2.3" parse error during conversion from string: ParseAddr("1.2.3"): IPv4 address too short',
        ),
        ("cidr('1.2.3.4')", "no '/'"),
        ("url('bad host')", 'URL parse error during conversion from string: parse "bad host": invalid URI for request'),
        ("semver('bad')", "No Major.Minor.Patch elements found"),
        ("quantity('9G').sub(quantity('1n')).asInteger()", "cannot convert value to integer"),
        ("'abc'.substring(2, 1)", "invalid substring range. start: 2, end: 1"),
        ("lists.range(-1)", "lists.range: size must be non-negative, got -1"),
        ("quantity('1') == dyn(1)", "no such overload"),
    ],
)
def test_an_error_has_the_words_of_the_api_server(text: str, words: str) -> None:
    with pytest.raises(EvaluationError) as caught:
        evaluate(text)
    assert words in str(caught.value)


def test_patch_types_are_known_to_mutation_only() -> None:
    mutation = Declarations(patch_types=True)
    patch = compile_expression("[JSONPatch{op: 'add', path: '/a/' + jsonpatch.escapeKey('b/c'), value: [1]}]", mutation)
    made = compile_expression("Object{spec: Object.spec{replicas: 1, ?name: optional.none()}}", mutation)
    assert encode_tagged(patch.evaluate({})) == [{"$jsonpatch": {"op": "add", "path": "/a/b~1c", "value": [1]}}]
    same_type = compile_expression("type(Object{}) == type(Object.spec{}) && type(Object{}) == type", mutation)
    assert same_type.evaluate({}) is True
    assert encode_tagged(made.evaluate({})) == {"$object": "Object", "fields": {"spec": {"replicas": 1}}}


@pytest.mark.parametrize(
    "text",
    ["Object{}", "JSONPatch{}", "jsonpatch.escapeKey('a')", "google.protobuf.Struct{}", "google.protobuf.Int32Value{value: 'a'}"],
)
def test_typed_objects_are_refused_elsewhere(text: str) -> None:
    with pytest.raises(CompileError):
        compile_expression(text, Declarations())


@pytest.mark.parametrize(
    ("text", "tagged"),
    [
        ("quantity('1.5Gi')", {"$opaque": "kubernetes.Quantity", "str": "1536Mi"}),
        ("[1u, 2u]", [{"$uint": "1"}, {"$uint": "2"}]),
        ("{1: b'x'}", {"$map": [[1, {"$bytes": "eA=="}]]}),
        ("optional.of(1.0)", {"$optional": [{"$double": "1"}]}),
        ("optional.none()", {"$optional": []}),
        ("duration('1s')", {"$duration": "1000000000"}),
        ("timestamp('2024-01-01T00:00:00+02:00')", {"$timestamp": "2023-12-31T22:00:00Z"}),
        ("type(1)", {"$type": "int"}),
        ("double('-Infinity')", {"$double": "-Infinity"}),
    ],
)
def test_a_value_leaves_as_tagged_json(text: str, tagged: Any) -> None:
    assert encode_tagged(evaluate(text)) == tagged

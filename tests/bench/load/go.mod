module gangwarden.dev/tests/bench/load

go 1.26.0

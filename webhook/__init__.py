"""Gangwarden: policy-as-code admission for batch work on Kubernetes' native Workload-Aware Scheduling.

Imports between the rooms of this package point down only (see ``[tool.importlinter]`` in ``pyproject.toml``)::

    cli > server | controller > policies | certs | cluster | reports > admission | preemption | migration
        > groups > rules > cel > model > settings > errors

``model`` to ``admission`` are thinking rooms: values in, values out. They hold no clock, no log and no client.
"""

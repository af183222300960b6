"""The stores that scripts take: sqlite, and each folder of lockcore/stores with a server that scripts can start.

The server of a store is the module <store>_server.py beside this one, and the command <store>_local. The module's
`store_section(directory)` is the section `store` of a group's file: a place of its own at the server that runs.
"""

import importlib
import os
import pathlib

HERE = pathlib.Path(__file__).resolve().parent


def with_a_server():
    folders = sorted(path.name for path in (HERE.parent / "lockcore" / "stores").iterdir())
    return [name for name in folders if (HERE / f"{name}_server.py").exists()]


def names():
    return ["sqlite", *with_a_server()]


def section(name, directory):
    if name == "sqlite":
        return f"{{ type: sqlite, path: {os.path.join(directory, 'leases.db')} }}"
    return importlib.import_module(f"{name}_server").store_section(directory)


def proves_deaths(name, text):
    """Whether candidates with this section keep liveness files."""
    return name == "sqlite" or "liveness_dir" in text

#!/usr/bin/env python3
"""Makes tests/stores/dynamodb/golden/*.json again: rows of other lock libraries, written by those libraries.

    scripts/dynamodb_local -- python3 tests/interop/golden/make.py [--go CHECKOUT] [WRITER...]

Each library writes to its own table; then the items are read unchanged. This is not a test: the files
are committed, and change only with a new version of a library. Go's needs `go` and a checkout of
github.com/cirello-io/dynamolock at v5.0.0.
"""

import argparse
import datetime
import json
import os
import pathlib
import subprocess
import sys
import venv

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "tests" / "interop")]
import dynamodb_server
import peers

GOLDEN = ROOT / "tests" / "stores" / "dynamodb" / "golden"
REQUIREMENTS = ("boto3==1.44.5", "python_dynamodb_lock==0.9.1", "dyndbmutex==0.4.0")


def items(endpoint, table):
    status, reply = dynamodb_server.call(endpoint, "Scan", {"TableName": table, "ConsistentRead": True})
    if status != 200:
        raise SystemExit(f"Scan of {table}: {reply}")
    return reply["Items"]


def keep(name, item):
    path = GOLDEN / f"{name}.json"
    path.write_text(json.dumps(dict(sorted(item.items())), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    print(path.relative_to(ROOT))


def keep_all(prefix, endpoint, table, key):
    """held -> prefix.json, others -> prefix_<row>.json"""
    for item in items(endpoint, table):
        row = item[key]["S"].replace("-", "_")
        keep(prefix if row == "held" else f"{prefix}_{row}", item)


def java(endpoint, _):
    for table, prefix, extra in (("java", "aws_java_1_4", []), ("java-sorted", "aws_java_1_4_sorted", ["rangeKey"])):
        subprocess.run([*peers.java(), "row", endpoint, table, *extra], check=True, stdout=subprocess.DEVNULL)
        keep_all(prefix, endpoint, table, "key")


def go(endpoint, options):
    if not options.go:
        raise SystemExit("--go CHECKOUT is missing")
    work = ROOT / "build" / "golden-go"
    work.mkdir(parents=True, exist_ok=True)
    source = pathlib.Path(__file__).parent / "go"
    for name in ("go.mod", "main.go"):
        (work / name).write_bytes((source / name).read_bytes())
    subprocess.run(["go", "mod", "edit", f"-replace=cirello.io/dynamolock/v5={os.path.abspath(options.go)}"], cwd=work,
                   check=True)
    subprocess.run(["go", "run", "-mod=mod", ".", endpoint, "dynamolock"], cwd=work, check=True)
    keep_all("go_dynamolock_v5", endpoint, "dynamolock", "key")


def python(endpoint, _):
    """In a separate virtual environment, because these libraries are old and install whatever they like."""
    home = ROOT / "build" / "golden-python"
    if not (home / "bin" / "python").exists():
        venv.create(home, with_pip=True)
    subprocess.run([home / "bin" / "pip", "install", "-q", *REQUIREMENTS], check=True)
    subprocess.run([home / "bin" / "python", __file__, "--inside", endpoint], check=True,
                   env=dict(os.environ, AWS_ENDPOINT_URL=endpoint, DD_MUTEX_TABLE_NAME="dyndbmutex"))
    keep_all("python_dynamodb_lock_0_9_1", endpoint, "DynamoDBLockTable", "lock_key")
    keep_all("python_dynamodb_lock_0_9_1_key", endpoint, "python-key", "key")
    keep_all("dyndbmutex_0_4_0", endpoint, "dyndbmutex", "lockname")


def inside_the_environment():
    import boto3
    from dyndbmutex.dyndbmutex import DynamoDbMutex
    from python_dynamodb_lock.python_dynamodb_lock import DynamoDBLockClient

    resource, client = boto3.resource("dynamodb"), boto3.client("dynamodb")
    for table, key in (("DynamoDBLockTable", "lock_key"), ("python-key", "key")):
        DynamoDBLockClient.create_dynamodb_table(client, table_name=table, partition_key_name=key)
        locks = DynamoDBLockClient(resource, table_name=table, partition_key_name=key,
                                   heartbeat_period=datetime.timedelta(seconds=1))
        locks.acquire_lock("held")
        locks.acquire_lock("held-full", additional_attributes={"note": "extra"})
        locks.close(release_locks=False)  # a release deletes the row
    DynamoDbMutex("held", region_name="us-east-1").lock()
    mutex = DynamoDbMutex("released", region_name="us-east-1")
    mutex.lock()
    mutex.release()


def main():
    writers = {"java": java, "go": go, "python": python}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--go", metavar="CHECKOUT")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("writers", nargs="*", metavar="WRITER", help=f"of {', '.join(writers)}; default all")
    options = parser.parse_args()
    if options.inside:
        inside_the_environment()
        return
    GOLDEN.mkdir(parents=True, exist_ok=True)
    for name in options.writers or writers:
        writers[name](os.environ[dynamodb_server.ENDPOINT], options)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""What a sharded group costs on DynamoDB, counted: for the tables of docs/sharding.md.

    TENURE_SHARD_PROCESS=build/dev/tests/shard_process scripts/dynamodb_local --dynoxide -- python3 -B tests/dynamodb/shard_costs.py

It starts 8 processes for 64 shards on a table with a sort key, and on one without, lets them come to rest, and counts their
requests at the fault proxy for a minute. The units of a listing are what the server says that it consumed. A renewal takes one
write unit, because each item is smaller than 1 KB.
"""

import argparse
import collections
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import uuid

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / "faults"), str(pathlib.Path(__file__).resolve().parents[2] / "scripts")]

import dynamodb_server  # noqa: E402
from client import FaultProxy  # noqa: E402

MONTH = 30 * 24 * 3600
# On demand, us-east-1, for a million units; https://aws.amazon.com/dynamodb/pricing/on-demand/
READS, WRITES = 0.125, 0.625


def listing_units(endpoint, table, operation, group):
    """What one listing consumes, the number of its items and the longest item."""
    body = {"TableName": table, "ConsistentRead": True, "ReturnConsumedCapacity": "TOTAL"}
    if operation == "Query":
        body.update(KeyConditionExpression="#k=:k", ExpressionAttributeNames={"#k": "key"}, ExpressionAttributeValues={":k": {"S": group}})
    status, reply = dynamodb_server.call(endpoint, operation, body)
    if status != 200:
        raise SystemExit(f"{operation}: {reply}")
    def size(item):
        return sum(len(name) + len(str(next(iter(value.values())))) for name, value in item.items())
    sizes = [size(item) for item in reply["Items"]]
    return reply["ConsumedCapacity"]["CapacityUnits"], len(sizes), sum(sizes), max(sizes)


def measure(options, sort_key):
    endpoint = os.environ[dynamodb_server.ENDPOINT]
    table = f"costs-{uuid.uuid4()}"
    with FaultProxy(endpoint) as proxy, tempfile.TemporaryDirectory() as directory:
        file = pathlib.Path(directory) / "group.yaml"
        file.write_text(f"group: indexer\nshards: {{ count: {options.shards} }}\nlease: {{ duration: 10s }}\nlog: {{ level: warn }}\n"
                        f"store: {{ type: dynamodb, table: {table}, region: us-east-1, endpoint: '{proxy.endpoint}'"
                        + (", sort_key: part" if sort_key else "") + " }\n")
        processes = [subprocess.Popen([os.environ["TENURE_SHARD_PROCESS"], file, f"{directory}/ledger"]) for _ in range(options.candidates)]
        try:
            time.sleep(options.settle)
            proxy.forget()
            time.sleep(options.seconds)
            counts = collections.Counter(entry["operation"] for entry in proxy.log())
        finally:
            for process in processes:
                process.terminate()
            for process in processes:
                process.wait()
        operation = "Query" if sort_key else "Scan"
        units, items, size, longest = listing_units(endpoint, table, operation, "indexer")
    monthly = {name: count * MONTH / options.seconds for name, count in counts.items()}
    reads = monthly.get(operation, 0) * units + monthly.get("GetItem", 0) + monthly.get("BatchGetItem", 0) * 2
    writes = monthly.get("UpdateItem", 0) + monthly.get("TransactWriteItems", 0) * 4
    print(f"\n{'with' if sort_key else 'without'} a sort key, {options.shards} shards, {options.candidates} candidates, in {options.seconds} s:")
    print("  requests: " + ", ".join(f"{count} {name}" for name, count in sorted(counts.items())))
    print(f"  a listing ({operation}): {items} items, {size} bytes (the longest {longest}), {units} units")
    for name, count in sorted(monthly.items()):
        print(f"  {name}: {count / 1e6:.2f} million in 30 days")
    print(f"  read units {reads / 1e6:.1f} million, {reads * READS / 1e6:.2f} $; write units {writes / 1e6:.1f} million, {writes * WRITES / 1e6:.2f} $; "
          f"in all {(reads * READS + writes * WRITES) / 1e6:.2f} $ in 30 days", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shards", type=int, default=64)
    parser.add_argument("--candidates", type=int, default=8)
    parser.add_argument("--settle", type=int, default=40, help="seconds until all is at rest")
    parser.add_argument("--seconds", type=int, default=60)
    options = parser.parse_args()
    for sort_key in (False, True):
        measure(options, sort_key)


if __name__ == "__main__":
    main()

"""Compares docs/iam-policy-dynamodb.json, what the store's sources can send, and what a log of the fault proxy
shows."""

import json
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
POLICY = ROOT / "docs" / "iam-policy-dynamodb.json"
SOURCES = ROOT / "lockcore" / "stores" / "dynamodb"

# All operations of DynamoDB's data plane, and those of its control plane that may concern one table.
OPERATIONS = """
BatchExecuteStatement BatchGetItem BatchWriteItem CreateBackup CreateGlobalTable CreateTable DeleteBackup DeleteItem
DeleteTable DescribeBackup DescribeContinuousBackups DescribeEndpoints DescribeGlobalTable DescribeLimits DescribeTable
DescribeTableReplicaAutoScaling DescribeTimeToLive ExecuteStatement ExecuteTransaction GetItem GetResourcePolicy ListTables
ListTagsOfResource PutItem Query Scan TagResource TransactGetItems TransactWriteItems UntagResource
UpdateContinuousBackups UpdateGlobalTable UpdateItem UpdateTable UpdateTableReplicaAutoScaling UpdateTimeToLive
""".split()

# A transaction needs the permissions of its parts; it has no action of its own.
TRANSACTION_PARTS = {"Update": "UpdateItem", "Put": "PutItem", "Delete": "DeleteItem", "ConditionCheck": "ConditionCheckItem",
                     "Get": "GetItem"}


def allowed(policy):
    """The actions of a policy, without their prefix. Wildcards are not least privilege, so they count as none."""
    actions = set()
    for statement in policy["Statement"]:
        listed = statement["Action"]
        for action in [listed] if isinstance(listed, str) else listed:
            service, _, name = action.partition(":")
            if service != "dynamodb" or "*" in name:
                raise ValueError(f"{action} allows more than one operation of DynamoDB")
            actions.add(name)
    return actions


def sent(log):
    """The actions that the calls of a fault proxy's log need."""
    needed = set()
    for entry in log:
        if entry["operation"] in ("TransactWriteItems", "TransactGetItems"):
            needed |= {TRANSACTION_PARTS[part] for part in entry["parts"]}
        else:
            needed.add(entry["operation"])
        if entry["operation"] == "CreateTable" and '"Tags"' in entry.get("body", ""):
            needed.add("TagResource")
    return needed


def in_sources(text):
    """The actions that this C++ text names as operations or as parts of transactions, in string literals."""
    needed = {name for name in re.findall(r'"([A-Z][A-Za-z]+)"', text) if name in OPERATIONS}
    if needed & {"TransactWriteItems", "TransactGetItems"}:
        parts = set(re.findall(r'\{\\?"(Update|Put|Delete|ConditionCheck|Get)\\?"[:,]', text))
        if not parts:
            raise ValueError("a transaction without parts: has the way changed in which the sources write them?")
        needed |= {TRANSACTION_PARTS[part] for part in parts}
        needed -= {"TransactWriteItems", "TransactGetItems"}
    if "CreateTable" in needed and re.search(r'\\?"Tags\\?"', text):
        needed.add("TagResource")
    return needed


def read_policy():
    return json.loads(POLICY.read_text(encoding="utf-8"))


def read_sources():
    return "\n".join(p.read_text(encoding="utf-8") for p in sorted(SOURCES.rglob("*.cpp")))

"""The IAM policy that the documents ship allows what the DynamoDB store does, and nothing else.

TENURE_DYNAMODB_PROGRAMS in the environment: test programs of the store, separated by colons. They run through the fault
proxy, and its log shows what they sent.
"""

import os
import pathlib
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "faults"), str(HERE.parents[1] / "scripts")]
import dynamodb_server
import iam_policy
from client import FaultProxy

# Sent by the tests themselves: to clean up, and to act as foreign writers.
BY_HAND = {"DeleteTable", "PutItem", "Query"}


class Reading(unittest.TestCase):
    def test_reads_what_was_sent(self):
        log = [{"operation": "GetItem"}, {"operation": "TransactWriteItems", "parts": ["Update", "ConditionCheck"]},
               {"operation": "CreateTable", "body": '{"Tags":[]}'}]
        self.assertEqual(iam_policy.sent(log),
                         {"GetItem", "UpdateItem", "ConditionCheckItem", "CreateTable", "TagResource"})

    def test_reads_sources(self):
        text = 'send(core, "GetItem", x); send("TransactWriteItems"); R"([{"Update":{)" + ",{\\"Put\\":{"; "Item"; "Getter";'
        self.assertEqual(iam_policy.in_sources(text), {"GetItem", "UpdateItem", "PutItem"})
        with self.assertRaises(ValueError):
            iam_policy.in_sources('"TransactWriteItems"')

    def test_refuses_wildcards(self):
        for action in ("dynamodb:*", "dynamodb:Get*", "s3:GetObject"):
            with self.assertRaises(ValueError):
                iam_policy.allowed({"Statement": [{"Action": action}]})


class Policy(unittest.TestCase):
    def setUp(self):
        self.policy = iam_policy.read_policy()
        self.allowed = iam_policy.allowed(self.policy)

    def test_names_one_table(self):
        for statement in self.policy["Statement"]:
            self.assertEqual((statement["Effect"], statement["Resource"]),
                             ("Allow", "arn:aws:dynamodb:REGION:ACCOUNT:table/TABLE"))

    def test_allows_just_what_the_sources_can_send(self):
        self.assertEqual(self.allowed, iam_policy.in_sources(iam_policy.read_sources()))

    def test_allows_what_the_store_was_seen_to_send(self):
        programs = os.environ["TENURE_DYNAMODB_PROGRAMS"].split(":")
        with FaultProxy(os.environ[dynamodb_server.ENDPOINT]) as proxy:
            proxy.keep_bodies()
            environment = {**os.environ, dynamodb_server.ENDPOINT: proxy.endpoint}
            for program in programs:
                done = subprocess.run([program], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                self.assertEqual(done.returncode, 0, done.stdout[-4000:])
            seen = iam_policy.sent(proxy.log())
        self.assertEqual(seen - self.allowed - BY_HAND, set())
        # The tests must have done the usual work, or the log shows nothing.
        self.assertLessEqual({"GetItem", "UpdateItem", "DescribeTable", "CreateTable", "Scan"}, seen)


if __name__ == "__main__":
    unittest.main()

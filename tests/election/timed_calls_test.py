"""Every call of the public headers that has a time limit is tried by a test."""

import pathlib
import re
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]

# What says that a call takes its time: its documentation, a parameter, its name; or the name of an option.
SAYS_IT = re.compile(r"\b[Bb]locks?\b|\bat most\b|\b[Nn]o longer than\b|\bwaits\b|\b[Ww]ithin \d")
PARAMETER = re.compile(r"chrono::\w+>? \w+")
ENDS = {"stop", "close"}
OPTION = re.compile(r"chrono::\w+>?\s+(\w*(?:[wW]ait(?:For)?|[tT]ime(?:out)?|budget|[pP]atience|[lL]imit))\b")

# Each with the test that tries it. A name with :: is a row of timed_calls_test.cpp, beside a store that hangs, is slow or
# refuses, and a rival that holds.
TIMED = {
    "AcquireOptions.waitFor": "LockClient::acquire",
    "AsyncElector::stop": "AsyncElector::stop",
    "CallOptions.timeout": "StoreStallContract.answersWritesWithinTheirTimeLimit",
    "DynamoDbFenceOptions.timeout": "SilentService.aCallOfTheDynamoDbFenceEndsInItsTime",
    "FencedFileOptions.lockTimeout": "FencedFileTest.waitsForOthersNoLongerThanItsLockTimeout",
    "HooksConfig.probeTimeout": "ProbeTest.ACommandThatHangsCostsTheLeaseWithinItsBound",
    "HooksConfig.timeout": "HooksTest.OnElectedThatTakesTooLongIsKilledWithAllThatItStarted",
    "LeaderElector::stop": "LeaderElector::stop",
    "LeaderElector::~LeaderElector": "LeaderElector::~LeaderElector",
    "LeaderFollower::stop": "LeaderFollower::stop",
    "LeaseOptions.drainTimeout": "Stop.doesNotReleaseUnderWorkThatDoesNotEnd",
    "LeaseOptions.progressTimeout": "I6CallbacksNeverDelayRenewal.workThatMustReportProgressAndDoesNotLosesTheLease",
    "ListenerOptions.idleTime": "HttpListener.IdleConnectionIsClosed",
    "ListenerOptions.requestTime": "HttpListener.SlowRequestIsEndedWith408",
    "ListenerOptions.stallPatience": "HttpListener.AnswersTrulyWhileTheRenewalThreadHangs",
    "Lock::ensure": "Lock::ensure",
    "Lock::extend": "Lock::extend",
    "Lock::release": "Lock::release",
    "Lock::renew": "Lock::renew",
    "Lock::~Lock": "Lock::~Lock",
    "LockClient::acquire": "LockClient::acquire",
    "LockClient::acquireAll": "LockClient::acquireAll",
    "LockClient::acquireAsync": "LockClient::acquireAsync",
    "LockClient::close": "LockClient::close",
    "LockClient::list": "LockClient::list",
    "LockClient::peek": "LockClient::peek",
    "LockClient::scan": "LockClient::scan",
    "LockClient::tryAcquire": "LockClient::tryAcquire",
    "LockClient::~LockClient": "LockClient::~LockClient",
    "LockTokens::acquire": "LockTokens::acquire",
    "LockTokens::check": "LockTokens::check",
    "LockTokens::release": "LockTokens::release",
    "PodLabel::checkRights": "SilentService.askingForTheRightsOnPodsEndsInItsTime",
    "PodLabel::~PodLabel": "SilentServer.doesNotHoldUpTheEndOfTheProgram",
    "PodLabelOptions.timeout": "SilentService.askingForTheRightsOnPodsEndsInItsTime",
    "PostgresqlFenceOptions.frozenLimit": "PostgresqlFenceTest.theServerLetsASuccessorPastAWriterThatStandsStill",
    "PostgresqlFenceOptions.lockTimeout": "PostgresqlFenceTest.aLaterTermWaitsForWritesUnderWayNoLongerThanItsLockTimeout",
    "RedisFenceOptions.waitTimeout": "RedisFenceTest.waitsForReplicasIfAsked",
    "ReleaseOptions.waitFor": "Lock::release",
    "S3FenceOptions.requestTimeout": "SilentService.aCallOfTheS3FenceEndsInItsTimeWithAllRepetitions",
    "S3FenceOptions.timeout": "SilentService.aCallOfTheS3FenceEndsInItsTimeWithAllRepetitions",
    "ShardedElector::stop": "ShardedElector::stop",
    "ShardedElector::~ShardedElector": "ShardedElector::~ShardedElector",
    "SimulationOptions.patience": "SimulationTest.BrokenStoresAreFound",
    "SingletonScheduler::stop": "SingletonScheduler::stop",
    "SingletonScheduler::~SingletonScheduler": "SingletonScheduler::~SingletonScheduler",
    "SqliteFenceOptions.busyTimeout": "SqliteFenceTest.waitsForOthersNoLongerThanItsBusyTimeout",
    "TokenAcquireOptions.waitFor": "LockTokens::acquire",
    "TokenRenewOptions.budget": "LockTokens::renew",
}
# Their documentation or their parameters speak of times, but the call returns at once, or has no limit by intent.
NOT_TIMED = {
    "CallDeadline::CallDeadline", "ConfigFault::kubernetesOptionsFrom", "ConfigFault::loadGroupConfig", "FencePass::onOvertaken",
    "HooksConfig::probeLimit", "HooksConfig::probePause", "HttpFence::admit", "HttpFence::close", "HttpListener::~HttpListener",
    "Instant.boottime", "JobLedger::end", "LeaderElector::stepDown", "LeaderElector::waitForStopSignal", "Leadership::reportProgress",
    "Leadership::stopToken", "Lock::onExpiring", "Lock::onLost", "LockToken::text", "Logger::toStderr", "PostgresqlFence::write", "Scheduler::isCurrent",
    "Scheduler::schedule", "SingletonScheduler::start",
}
VALUES = {"HandMadeTerm", "LeaseRecord", "ManualRuntime", "ManualScheduler", "Schedule", None}


def declarations(text):
    """(documentation, declaration) of all in a header."""
    said, code = [], ""
    for line in map(str.strip, text.splitlines()):
        if line.startswith("///") and not line.startswith("///<"):
            said, code = ([] if code else said) + [line[3:]], ""
            continue
        part = re.sub(r"//.*", "", line).strip()
        if not part:
            said, code = [], ""
            continue
        code = f"{code} {part}".strip()
        if code.endswith((";", "{", "}", ":")) and code.count("(") <= code.count(")"):
            yield " ".join(said), code
            said, code = [], ""


def candidates():
    headers = subprocess.run(["git", "ls-files", "*/include/tenure/*.hpp"], cwd=ROOT, check=True, capture_output=True,
                             text=True).stdout.split()
    for header in headers:
        owner = None
        for said, code in declarations((ROOT / header).read_text(encoding="utf-8")):
            named = re.match(r"(?:template.*> )?(?:class|struct) (?:TENURE_\w+ )?(\w+)", code)
            if named and code.endswith("{") and named.group(1) != "Options":
                owner = named.group(1)
                continue
            function, option = re.search(r"(~?\w+)\s*\(", code), OPTION.search(code)
            if function:
                timed = SAYS_IT.search(said) or PARAMETER.search(code[function.end():]) or function.group(1) in ENDS
                if timed and owner not in VALUES and function.group(1) != "void":
                    yield f"{owner}::{function.group(1)}"
            elif option:
                yield f"{owner}.{option.group(1)}"


class TimedCalls(unittest.TestCase):
    def test_each_has_a_test(self):
        found = set(candidates())
        self.assertGreater(len(found), 50)
        self.assertEqual(sorted(found - set(TIMED) - NOT_TIMED), [], "try each in timed_calls_test.cpp, and name it here")
        self.assertEqual(sorted((set(TIMED) | NOT_TIMED) - found), [], "is not in a public header any more")

    def test_the_tests_are_there(self):
        rows = (ROOT / "tests/election/timed_calls_test.cpp").read_text(encoding="utf-8")
        sources = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*_test.cpp"))
        sources += (ROOT / "tests/contract/stall_contract.cpp").read_text(encoding="utf-8")
        for call, test in TIMED.items():
            if "::" in test:
                kind, function = test.split("::")
                there = f'"{test}"' in rows or (function.lstrip("~") in (kind, "stop") and f'all, "{kind}"' in rows)
            else:
                there = re.search(r"TEST(_F|_P)?\(" + test.replace(".", r",\s+") + r"\)", sources)
            self.assertTrue(there, f"{call}: {test}")


if __name__ == "__main__":
    unittest.main()

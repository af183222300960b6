"""The faults: what a rule may contain, which rule applies to a request, and how often it did."""

import fnmatch
import random
import time

ACTIONS = {
    # action: (what it does, its own parameters with their defaults)
    "delay": ("wait, then go on with the next rule; when=after delays the reply instead",
              {"seconds": 0.1, "when": "before"}),
    "drop_before": ("never forward it; close the connection, or with close=false leave it open and silent",
                    {"close": True, "reset": False}),
    "drop_after": ("forward it and throw the reply away; then as drop_before", {"close": True, "reset": False}),
    "duplicate": ("forward it, and `seconds` later again; answer with the first or second reply",
                  {"answer": "first", "seconds": 0}),
    "hold": ("forward it `seconds` later, though the client may be gone; close=true closes at once",
             {"seconds": 1, "close": False}),
    "cut": ("forward it, send `bytes` of the reply's body (half of it if null), close", {"bytes": None, "reset": False}),
    "stall": ("forward it, send `bytes` of the reply's body, the rest `seconds` later", {"bytes": None, "seconds": 60}),
    "error": ("answer with this DynamoDB error; apply=true forwards it first",
              {"name": "InternalServerError", "status": 0, "message": "made by the fault proxy", "apply": False}),
    "lie": ("answer HTTP 200 with this JSON as if the service had said it; apply=true forwards it first",
            {"body": {}, "apply": False}),
    "throttle": ("let `rate` requests a second through and answer the others with this error",
                 {"rate": 0, "name": "ProvisionedThroughputExceededException", "message": "throttled by the fault proxy"}),
    "close_after": ("forward it, answer, then close without having announced it", {}),
}
COMMON = {"action": None, "operation": "*", "contains": "", "probability": 1.0, "count": None, "skip": 0}

# DynamoDB answers all errors except these with 400.
STATUS = {"InternalServerError": 500, "ServiceUnavailable": 503, "ServiceUnavailableException": 503,
          "InternalFailure": 500}
# These belong to all AWS services, the others to DynamoDB.
COMMON_ERRORS = {
    "AccessDeniedException", "ExpiredTokenException", "IncompleteSignatureException", "InvalidSignatureException",
    "MissingAuthenticationTokenException", "MissingAuthenticationToken", "NotAuthorized", "OptInRequired",
    "SerializationException", "ThrottlingException", "UnknownOperationException", "UnrecognizedClientException",
    "ValidationException"}


def error_type(name):
    """`__type` as DynamoDB spells it; a name with a # is used unchanged."""
    if "#" in name:
        return name
    return ("com.amazon.coral.service#" if name in COMMON_ERRORS else "com.amazonaws.dynamodb.v20120810#") + name


class BadRule(ValueError):
    pass


class Rule:
    """One fault. `operation`: a name or pattern such as "*Item", or a list of them; `contains`: a text that the body
    must contain (a key, a table); `skip`: the number of requests that it first leaves alone; `count`: how often it then
    acts at most, each time with `probability`."""

    def __init__(self, number, given, seed, clock=time.monotonic):
        action = given.get("action")
        if action not in ACTIONS:
            raise BadRule(f"action {action!r}: there are {', '.join(ACTIONS)}")
        known = {**COMMON, **ACTIONS[action][1]}
        unknown = sorted(set(given) - set(known))
        if unknown:
            raise BadRule(f"{action} does not know {', '.join(unknown)}: there are {', '.join(known)}")
        self.number = number
        self.settings = {**known, **given}
        operations = self.settings["operation"]
        self._patterns = [operations] if isinstance(operations, str) else list(operations)
        self._contains = self.settings["contains"].encode()
        # Each rule has its own, so that its draws do not depend on how often another rule draws.
        self._random = random.Random(f"{seed}:{number}")
        self._clock = clock
        self._credit = float(self.settings.get("rate", 0))
        self._credited_at = clock()
        self.matched = 0
        self.applied = 0

    def __getitem__(self, name):
        return self.settings[name]

    def meets(self, operation, body):
        """Whether it acts on this request. It counts the request."""
        if self["count"] is not None and self.applied >= self["count"]:
            return False
        if not any(fnmatch.fnmatchcase(operation, pattern) for pattern in self._patterns):
            return False
        if self._contains not in body:
            return False
        self.matched += 1
        if self.matched <= self["skip"] or self._random.random() >= self["probability"]:
            return False
        if self["action"] == "throttle" and self._within_rate():
            return False
        self.applied += 1
        return True

    def _within_rate(self):
        now = self._clock()
        rate = self["rate"]
        self._credit = min(max(rate, 1) if rate else 0, self._credit + (now - self._credited_at) * rate)
        self._credited_at = now
        if self._credit < 1:
            return False
        self._credit -= 1
        return True

    def view(self):
        return {"number": self.number, **self.settings, "matched": self.matched, "applied": self.applied}


def choose(rules, operation, body):
    """(delays, the one other rule that acts): delays add up until the first rule that is not a delay."""
    delays = []
    for rule in rules:
        if rule.meets(operation, body):
            if rule["action"] != "delay":
                return delays, rule
            delays.append(rule)
    return delays, None

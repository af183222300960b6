"""Changes users and tokens at the API server that TENURE_TEST_KUBERNETES names: access.py, for tests in other languages.

    control.py account NAME             makes a service account with the role "tenure"; prints the directory of its token
    control.py token NAME [SECONDS]     prints a new token of it, which the server accepts for so long (600 s at least)
    control.py short-token NAME SECONDS the same, for any time
    control.py put NAME TOKEN           replaces the token in its directory, as the kubelet does
    control.py recreate NAME            the server refuses all tokens that it had
    control.py take-away NAME           the role of an account, or of the user tenure or prepared
    control.py give-back NAME           the same role
    control.py apply FILE               a manifest, in the namespace tenure-test
    control.py await-refused TOKEN      until the server answers 401; it remembers a token for 10 s

A test that shares the server with others uses an account of its own.
"""

import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from access import Access, ToolError


ACTIONS = {
    "account": lambda access, name: access.make_account(name),
    "token": lambda access, name, seconds="3600": access.token(name, int(seconds)),
    "short-token": lambda access, name, seconds: access.signed_token(name, float(seconds)),
    "put": lambda access, name, token: access.put_token(name, token),
    "recreate": lambda access, name: access.recreate_account(name),
    "take-away": lambda access, name: access.take_away(name),
    "give-back": lambda access, name: access.give_back(name),
    "apply": lambda access, file: access.apply(pathlib.Path(file).read_text(encoding="utf-8")),
    "await-refused": lambda access, token: access.until_refused(token),
}


def main():
    if len(sys.argv) < 3 or sys.argv[1] not in ACTIONS:
        sys.exit(__doc__)
    try:
        made = ACTIONS[sys.argv[1]](Access.beside(), *sys.argv[2:])
    except ToolError as error:
        sys.exit(f"control: {error}")
    if made:
        print(made)


if __name__ == "__main__":
    main()

"""The programs of tests/interop that are not ours: AWS's Java lock client, and boto3 in a virtual environment."""

import os
import pathlib
import subprocess
import sys
import venv

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import dynamodb_server

HERE = pathlib.Path(__file__).resolve().parent
CACHE = dynamodb_server.CACHE.parent


def java():
    """The command of the Java program (java/src/main/java/tenure/interop/Main.java), built if something changed."""
    home = CACHE / "interop-java"
    pom = HERE / "java" / "pom.xml"
    sources = sorted((HERE / "java" / "src").rglob("*.java"))
    dynamodb_server.cached(home, [pom, *sources], lambda fresh: dynamodb_server.run_maven(
        ["-f", str(pom), "package", f"-Dout={fresh}"], "Building the Java program of tests/interop"))
    # Small and quick to start: a fight starts many of them on one machine.
    return ["java", "-Xmx96m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto",
            "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", f"{home}/classes:{home}/lib/*", "tenure.interop.Main"]


def python():
    """A python3 with the packages of requirements.txt."""
    home = CACHE / "interop-python"
    requirements = HERE / "requirements.txt"

    def build(fresh):
        venv.create(fresh, with_pip=True, symlinks=True)
        # Called as a module: the scripts beside it hold the path of `fresh`, which is renamed afterwards.
        done = subprocess.run([fresh / "bin" / "python", "-m", "pip", "install", "-q", "-r", requirements],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              env=dict(os.environ, PIP_DISABLE_PIP_VERSION_CHECK="1"), check=False)
        if done.returncode:
            raise dynamodb_server.Trouble(f"Fetching boto3 failed:\n{done.stdout.strip()}\nIf https://pypi.org cannot be "
                                          "reached from here, name a mirror (PIP_INDEX_URL), or copy build/.cache from "
                                          "a machine that has it.")

    dynamodb_server.cached(home, [requirements], build)
    return str(home / "bin" / "python")

"""The programs of tests/interop that are not ours: AWS's Java lock client, and boto3 in a virtual environment."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import fetching

HERE = pathlib.Path(__file__).resolve().parent


def java():
    """The command of the Java program (java/src/main/java/tenure/interop/Main.java), built if something changed."""
    home = fetching.CACHE / "interop-java"
    pom = HERE / "java" / "pom.xml"
    sums = pom.with_suffix(".sha256")
    sources = sorted((HERE / "java" / "src").rglob("*.java"))

    def build(fresh):
        fetching.run_maven(["-f", str(pom), "package", f"-Dout={fresh}"], "Building the Java program of tests/interop")
        fetching.check_sums(fresh / "lib", sums)

    fetching.cached(home, [pom, sums, *sources], build)
    # Small and quick to start: a fight starts many of them on one machine.
    return ["java", "-Xmx96m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto",
            "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", f"{home}/classes:{home}/lib/*", "tenure.interop.Main"]


def python():
    """A python3 that has the packages of requirements.txt."""
    home = fetching.CACHE / "interop-python"
    requirements = HERE / "requirements.txt"
    fetching.cached(home, [requirements], lambda fresh: fetching.make_python(fresh, requirements))
    return str(home / "bin" / "python")

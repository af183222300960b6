"""The programs of tests/interop that are not ours: AWS's Java lock client, boto3 and prometheus_client in a virtual
environment, and Prometheus's Go library. As a command, `peers.py java`, `python` or `expfmt`, it makes that one."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import fetching
import go_tools

NoGo = go_tools.NoGo

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


def expfmt():
    """The program of expfmt/main.go, which needs Go."""
    home = fetching.CACHE / "interop-expfmt"
    source = HERE / "expfmt"

    def build(fresh):
        go = go_tools.go_program("what is in tests/interop/expfmt")
        fetching.run(["nice", "-n", "10", go, "build", "-trimpath", "-o", fresh / "expfmt", "."],
                     ("Building the program of tests/interop/expfmt", go_tools.CURE), cwd=source, env=go_tools.environment())

    fetching.cached(home, [source / "go.sum", source / "go.mod", source / "main.go"], build)
    return str(home / "expfmt")


if __name__ == "__main__":
    try:
        {"java": java, "python": python, "expfmt": expfmt}[sys.argv[1]]()
    except NoGo as missing:
        print(missing)  # the tests that need it say so, or go without
    except fetching.ToolError as error:
        sys.exit(f"peers.py: {error}")

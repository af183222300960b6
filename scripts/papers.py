#!/usr/bin/env python3
"""Makes man pages and shell completion of the program, from what its own --help prints and from config/reference.yaml.

    papers.py PROGRAM OUT    OUT/man1, OUT/man5, OUT/bash, OUT/zsh, OUT/fish

So a page or a completion cannot tell another thing than the program does.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
OPTION = re.compile(r"(?<![\w-])(-\w|--[a-z][a-z0-9-]*)(?:[ =]([A-Za-z][\w:,|/]*))?")


class Help:
    """One command, as its --help tells it."""

    def __init__(self, program, path):
        self.path = path  # () for the program, ("lock", "hold")
        done = subprocess.run([program, *path, "--help"], capture_output=True, text=True, check=True)
        lines = done.stdout.rstrip("\n").split("\n")
        self.name, self.summary = re.fullmatch(r"(tenure[a-z -]*?) - (.*)", lines[0]).groups()
        self.blocks = [block.split("\n") for block in re.split(r"\n\n+", "\n".join(lines[1:]).strip("\n"))]

    def titled(self, word):
        """The lines below a title that begins with this word."""
        return next((block[1:] for block in self.blocks if re.match(rf"{word}\b.*:$", block[0])), [])

    def items(self, lines):
        """(term, description) of lines such as `  --once    run it once`, which go on further right."""
        found = []
        for line in lines:
            if re.match(r"  \S", line):
                term, _, text = re.match(r"  (\S.*?)(  +(.*))?$", line).groups()
                found.append([term, text or ""])
            elif found:
                found[-1][1] = f"{found[-1][1]} {line.strip()}".strip()
        return found

    def subcommands(self):
        return [(term.split()[0], text) for term, text in self.items(self.titled("Commands"))]

    def options(self):
        """{option: (what its value is, or None for a flag; description)}"""
        found = {}
        for title in ("Options", "The store"):
            for term, text in self.items(self.titled(title)):
                more = OPTION.findall(text) if text.startswith("[") else []  # the usage of a store, not a description
                for option, value in OPTION.findall(term) + more:
                    kept, told = found.get(option, (None, ""))
                    found[option] = (kept or value or None, told or ("" if more else text))
                if both := re.match(r"(-\w), (--[a-z-]+)", term):
                    found[both[1]] = found[both[2]]
        return found


def commands(program):
    """Of the whole program, each after the one that it belongs to."""
    found = []

    def visit(path):
        one = Help(program, path)
        found.append(one)
        for word, _ in one.subcommands():
            visit((*path, word))

    visit(())
    return found


# -- man pages ------------------------------------------------------------------------------------------------------

def escaped(text):
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga")
    return "\n".join("\\&" + line if line.startswith((".", "'")) else line for line in text.split("\n"))


def literal(lines):
    margin = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return ".nf\n" + escaped("\n".join(line[margin:] for line in lines)) + "\n.fi\n"


def section(block, one):
    first = block[0]
    if first.startswith("Usage:"):
        return ".SH SYNOPSIS\n" + literal([" " * 7 + first[7:], *block[1:]])
    listed = re.match(r"(Commands|Options|The store)\b.*:$", first)
    if listed:
        out = f".SH {listed[1].upper()}\n"
        return out + "".join(f".TP\n.B {escaped(term)}\n{escaped(text or ' ')}\n" for term, text in one.items(block[1:]))
    titled = re.match(r"((?:Exit|Signals|Example|The first)[A-Za-z ]*):?(?: (.*))?$", first)
    if titled:
        rest = [titled[2]] if titled[2] else []
        return f".SH {escaped(titled[1].upper())}\n" + literal([*rest, *(line.strip() if rest else line for line in block[1:])])
    if "environment" in first and first.endswith(":"):
        return ".SH ENVIRONMENT\n" + escaped(first) + "\n" + literal(block[1:])
    if any(line.startswith("  ") for line in block):
        return ".PP\n" + literal(block)
    return ".PP\n" + escaped("\n".join(block)) + "\n"


def page(name, number, summary, body, version):
    title = name.replace(" ", "-")
    return (f'.TH {title.upper()} {number} "" "{version}" "tenure"\n.SH NAME\n{escaped(title)} \\- {escaped(summary)}\n' + body)


def man_page(one, version, all_commands):
    body, described = "", False
    for block in one.blocks:
        text = section(block, one)
        if not text.startswith(".SH") and not described:
            text, described = ".SH DESCRIPTION\n" + text.removeprefix(".PP\n"), True
        body += text
    related = [c.name.replace(" ", "-") for c in all_commands
               if c.path != one.path and (c.path[:-1] == one.path or one.path[:-1] == c.path)]
    pages = [f".BR {escaped(name)} (1)" for name in sorted(related)] + [".BR tenure.yaml (5)"]
    return page(one.name, 1, one.summary, body + ".SH SEE ALSO\n" + " ,\n".join(pages) + "\n", version)


def yaml_page(version):
    text = (ROOT / "config/reference.yaml").read_text(encoding="utf-8")
    head, _, keys = text.partition("\n\n")
    about = " ".join(line.lstrip("# ") for line in head.split("\n") if not line.startswith("# This text comes"))
    body = f".SH DESCRIPTION\n{escaped(about)}\n.SH KEYS\n" + literal(keys.rstrip("\n").split("\n"))
    return page("tenure.yaml", 5, "the configuration file of a group of candidates",
                body + ".SH SEE ALSO\n.BR tenure\\-check (1) ,\n.BR tenure\\-init (1)\n", version)


# -- completion -----------------------------------------------------------------------------------------------------

def values_of(one, option):
    """Words that the help itself lists: `--store sqlite ...`."""
    words = re.findall(rf"^  {re.escape(option)} ([a-z]+)\b", "\n".join("\n".join(b) for b in one.blocks), re.M)
    return sorted(set(words))


def table(all_commands):
    """For each command: what follows it."""
    by_path = {one.path: one for one in all_commands}
    out = []
    for one in all_commands:
        options = dict(one.options())
        for above in range(len(one.path)):  # the store of `tenure lock` is for each of its commands
            if "The store" in "\n".join(b[0] for b in by_path[one.path[:above]].blocks) and one.path[:above]:
                options = {**by_path[one.path[:above]].options(), **options}
        out.append((one, options))
    return out


def kind_of(value):
    return "none" if value is None else "file" if value in ("FILE", "DIR") else "word"


def bash(all_commands):
    lines = ["# Completion of tenure(1) for bash; made from what --help prints.", "_tenure_follows() {", "  case \"$1\" in"]
    for one, options in table(all_commands):
        words = [word for word, _ in one.subcommands()] + sorted(o for o in options if o.startswith("--"))
        lines.append(f"    \"{' '.join(one.path)}\") echo \"{' '.join(words)}\" ;;")
    lines += ["  esac", "}", "_tenure_value() {", "  case \"$1 $2\" in"]
    for one, options in table(all_commands):
        for option, (value, _) in sorted(options.items()):
            if value is not None:
                words = values_of(next((c for c in all_commands if values_of(c, option)), one), option)
                lines.append(f"    \"{' '.join(one.path)} {option}\") echo \"{' '.join([kind_of(value), *words])}\" ;;")
    lines += ["  esac", "}", """_tenure_files() {
  compopt -o filenames 2>/dev/null  # readline quotes them
  mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen "$@")
}
_tenure() {
  local word at='' i value rest option follows
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    [[ $word == -- ]] && { _tenure_files -A command -A file -- "${COMP_WORDS[COMP_CWORD]}"; return; }
    value=$(_tenure_value "$at" "$word")
    [[ -n $value ]] && { ((i++)); continue; }
    [[ $word == -* ]] && continue
    [[ -n $(_tenure_follows "${at:+$at }$word") ]] && at="${at:+$at }$word"
  done
  word=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD - 1]}
  [[ $word == = ]] && word=''  # of --option=value, which bash takes apart
  [[ $option == = ]] && option=${COMP_WORDS[COMP_CWORD - 2]}
  value=$(_tenure_value "$at" "$option")
  if [[ -n $value ]]; then
    read -r value rest <<<"$value"
    if [[ $value == file ]]; then
      _tenure_files -f -- "$word"
    else
      mapfile -t COMPREPLY < <(compgen -W "$rest" -- "$word")
    fi
    return
  fi
  follows=$(_tenure_follows "$at")  # further commands come before options
  mapfile -t COMPREPLY < <(compgen -W "$follows" -- "$word")
  [[ $follows == [a-z]* || $word == -* ]] || _tenure_files -f -- "$word"
}
complete -F _tenure tenure
"""]
    return "\n".join(lines)


def quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


def zsh(all_commands):
    """The shell looks the file up by its first line."""
    lines = ["#compdef tenure", "# Completion of tenure(1) for zsh; made from what --help prints.", "_tenure() {",
             "  local at='' word i", "  for ((i = 2; i < CURRENT; i++)); do", "    word=${words[i]}",
             "    [[ $word == -- ]] && { shift $i words; ((CURRENT -= i)); _normal; return }",
             "    case \"${at:+$at }$word\" in"]
    paths = [" ".join(one.path) for one in all_commands if one.path]
    lines += [f"      {'|'.join(quoted(p) for p in paths)}) at=\"${{at:+$at }}$word\" ;;", "    esac", "  done",
              "  local -a commands options", "  case \"$at\" in"]
    for one, options in table(all_commands):
        lines.append(f"    {quoted(' '.join(one.path))})")
        commands_text = " ".join(quoted(f"{word}:{text}".replace("[", "(").replace("]", ")")) for word, text in one.subcommands())
        specs = []
        for option, (value, text) in sorted(options.items()):
            told = text.replace("[", "(").replace("]", ")").replace(":", "\\:")
            words = values_of(next((c for c in all_commands if values_of(c, option)), one), option)
            shown = (value or "").replace(":", "\\:")  # what stands after a colon of its own zsh would run
            action = "" if value is None else f":{shown}:" + ("_files" if kind_of(value) == "file" else f"({' '.join(words)})" if words else " ")
            specs.append(quoted(f"*{option}[{told}]{action}"))
        lines += [f"      commands=({commands_text})", f"      options=({' '.join(specs)}) ;;"]
    lines += ["  esac",
              "  if ((${#commands})) && [[ ${words[CURRENT]} != -* ]]; then _describe command commands; return; fi",
              "  _arguments -s $options '*:file:_files'", "}", '_tenure "$@"', ""]
    return "\n".join(lines)


def fish(all_commands):
    lines = ["# Completion of tenure(1) for fish; made from what --help prints.",
             "function __tenure_at --description 'Whether the words so far are this command'",
             "    set -l at", "    for word in (commandline -opc)[2..-1]", "        test $word = -- ; and return 1",
             "        switch (string join -- ' ' $at $word)",
             "            case " + " ".join(quoted(" ".join(one.path)) for one in all_commands if one.path),
             "                set at $at $word", "        end", "    end", "    set -l whole (string join -- ' ' $at)", "    test \"$whole\" = \"$argv[1]\"", "end",
             "complete -c tenure -f",
             "complete -c tenure -n 'contains -- -- (commandline -opc)' -F -a '(__fish_complete_command)'"]
    for one, options in table(all_commands):
        at = f"-n {quoted('__tenure_at ' + (quoted(' '.join(one.path)) if one.path else quoted('')))}"
        for word, text in one.subcommands():
            lines.append(f"complete -c tenure {at} -a {word} -d {quoted(text)}")
        if not one.subcommands():
            lines.append(f"complete -c tenure {at} -F")
        for option, (value, text) in sorted(options.items()):
            name = f"-l {option[2:]}" if option.startswith("--") else f"-s {option[1:]}"
            words = values_of(next((c for c in all_commands if values_of(c, option)), one), option)
            takes = {"none": "", "file": " -r -F", "word": " -x" + (f" -a {quoted(' '.join(words))}" if words else "")}
            lines.append(f"complete -c tenure {at} {name}{takes[kind_of(value)]} -d {quoted(text)}")
    return "\n".join(lines) + "\n"


def main():
    program, out = sys.argv[1], pathlib.Path(sys.argv[2])
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    found = commands(program)
    files = {f"man1/{one.name.replace(' ', '-')}.1": man_page(one, version, found) for one in found}
    files |= {"man5/tenure.yaml.5": yaml_page(version), "bash/tenure": bash(found), "zsh/_tenure": zsh(found),
              "fish/tenure.fish": fish(found)}
    for name, text in files.items():
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

"""Runs the examples of the documentation against a server that serves the digits.

    examples.py docs/reference/protocol.md HTTP_ADDRESS

Every block of Python, and every command that asks a server by curl, has to end well.
"""

import re
import subprocess
import sys


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text, re.S)


def main(path: str, address: str) -> None:
    with open(path) as file:
        text = file.read().replace("127.0.0.1:8000", address)
    ran = 0
    for code in blocks(text, "python"):
        subprocess.run([sys.executable, "-c", code], check=True)
        ran += 1
    for block in blocks(text, "sh"):
        lines = [line for line in block.splitlines() if not line.startswith("divisi ")]
        if any("curl " in line for line in lines):
            asked = "\n".join(lines).replace("curl ", "curl --fail --silent --show-error ")
            subprocess.run(["bash", "-euo", "pipefail", "-c", asked], check=True)
            ran += 1
    assert ran >= 2, "the page has no examples"
    print(f"{ran} examples of {path} ran")


if __name__ == "__main__":
    main(*sys.argv[1:])

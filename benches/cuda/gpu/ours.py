"""Our side of the contest: a program that is asked line by line (`contest.rs`)."""

import json
import subprocess


class Ours:
    def __init__(self, rows):
        self.process = subprocess.Popen([rows, "contest"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def end(self):
        self.process.kill()
        self.process.wait()

    def ask(self, **question):
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        said = self.process.stdout.readline()
        if not said:
            raise RuntimeError(f"our program ended ({self.process.wait()})")
        answer = json.loads(said)
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer

    def load(self, network, rows, precision="bf16"):
        self.ask(ask="load", network=network, precision=precision, rows=rows)

    def turn(self, seconds):
        return self.ask(ask="run", seconds=seconds)["batches"]

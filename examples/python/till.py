"""A fixture: one sandbox for each worker of a test runner.

No worker sees what another does, so no test has to reset anything, and as many run side by side as the machine has
room for. It needs Python 3.11, nothing but the standard library, and till in the PATH.
"""

import contextlib
import json
import subprocess


@contextlib.contextmanager
def sandbox(*options):
    """Start a sandbox on a free port, with options of till sandbox serve. Give its address and key, and end it."""
    command = ["till", "sandbox", "serve", "-o", "jsonl", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as till:
        try:
            line = till.stdout.readline()
            if not line:
                raise RuntimeError(f"till sandbox serve ended with {till.wait()}")
            started = json.loads(line)
            yield started["base_url"], started["api_key"]
        finally:
            till.terminate()

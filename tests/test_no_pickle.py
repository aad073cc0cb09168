"""A run, its resume and its report, watched by the interpreter: nothing is unpickled."""

import os
import subprocess
import sys

WATCHED = """
import sys
seen = []
sys.addaudithook(lambda event, _: seen.append(event) if event == "pickle.find_class" else None)

import pickle
pickle.loads(pickle.dumps(ValueError))
assert seen.pop() == "pickle.find_class" and not seen, "the watch does not work"

from terrafl.experiments.api import compare, run
from terrafl.experiments.run import resume

class Stop(Exception):
    pass

def stop(done, planned, accuracy):
    raise Stop

small = {"model": "linear", "clients": 10, "clients_per_round": 5, "rounds": 2}
for selector in ("terraform", "oort", "hics", "poc"):
    try:
        run(selector=selector, out=selector, workers=1, on_round=stop, **small)
    except Stop:
        resume(selector)
compare(selectors=["random", "hbase"], seeds=[0], workers=1, out="c", **small).report("report")
print(len(seen), "unpickled")
"""


def test_runs_resumes_and_reports_unpickle_nothing(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", WATCHED],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("0 unpickled\n")
    assert (tmp_path / "report" / "report.html").exists()

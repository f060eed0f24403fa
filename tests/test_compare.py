#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""perf/compare on results made up for it.      usage: test_compare.py PATH-OF-COMPARE [unittest options]"""
import os
import subprocess
import sys
import tempfile
import unittest

COMPARE = sys.argv.pop(1)
HEAD = ("problem,solver,knobs,seconds,best_other_seconds,vs_best,error,bound_absolute,bound_relative,verdict,spread,"
        "samples,rate,unit\n")


def row(problem="fft c2c f32 64", solver="ours", knobs="tile=1,b=2", us=100.0, verdict="good", spread=0.01, samples=25):
    return f'"{problem}",{solver},"{knobs}",{us * 1e-6:.6e},1e-4,1.0,0.1,0,0,{verdict},{spread},{samples},1,GB/s\n'


class CompareTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def write(self, name, *rows, head="# a machine\n" + HEAD):
        path = os.path.join(self.folder.name, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(head + "".join(rows))
        return path

    def compare(self, old, new, *flags):
        done = subprocess.run([COMPARE, old, new, *flags], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr

    def test_noise_is_no_change(self):
        status, out, _ = self.compare(self.write("a.csv", row()), self.write("b.csv", row(us=101.5)))
        self.assertEqual((status, out), (0, "1 problems in both: 0 better, 0 worse; 0 only in the old, 0 only in the new\n"))
        noisy = {"spread": 0.2, "samples": 9}
        self.assertEqual(self.compare(self.write("a.csv", row(**noisy)), self.write("b.csv", row(us=120, **noisy)))[0], 0)

    def test_a_regression_is_an_error(self):
        status, out, _ = self.compare(self.write("a.csv", row()), self.write("b.csv", row(us=104)))
        self.assertEqual(status, 1)
        self.assertIn("slower   fft c2c f32 64  ours tile=1,b=2: 100.00 -> 104.00 us, 1.040", out)
        self.assertIn("WORSE", out)
        self.assertEqual(self.compare(self.write("a.csv", row()), self.write("b.csv", row(us=104)), "--least", "0.05")[0], 0)
        self.assertEqual(self.compare(self.write("a.csv", row()), self.write("b.csv", row(us=90)))[0], 0)

    def test_another_choice_may_take_the_place(self):
        old = self.write("a.csv", row(), row(solver="other", knobs="", us=130))
        new = self.write("b.csv", row(us=200), row(solver="other", knobs="", us=99))
        status, out, _ = self.compare(old, new)
        self.assertEqual(status, 0)
        self.assertIn("slower", out)
        self.assertIn("0 worse", out)

    def test_wrong_results(self):
        status, out, _ = self.compare(self.write("a.csv", row()), self.write("b.csv", row(verdict="wrong", us=50)))
        self.assertEqual(status, 1)
        self.assertIn("BROKEN", out)

    def test_folders(self):
        self.write("old/x.csv", row())
        self.write("old/other.csv", "a,b\n", head="")
        self.write("new/x.csv", row(us=50))
        status, out, _ = self.compare(os.path.join(self.folder.name, "old"), os.path.join(self.folder.name, "new"))
        self.assertEqual(status, 0)
        self.assertIn("1 better", out)

    def test_bad_input(self):
        good = self.write("a.csv", row())
        for bad in (self.write("b.csv", "x,y\n"), self.write("c.csv", row().replace("e-0", "?")), "/no/such/file",
                    self.write("d.csv")):
            status, _, error = self.compare(good, bad)
            self.assertEqual(status, 2)
            self.assertIn(bad, error)


if __name__ == "__main__":
    unittest.main()

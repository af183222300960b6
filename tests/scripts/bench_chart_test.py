"""The picture of a bench shows each sample and each bound, and marks a bound that was missed."""

import pathlib
import sys
import tempfile
import unittest
import xml.dom.minidom

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import bench_chart

RESULTS = """{"bench":"locks","holds":false,"figures":{"by hand, p50 (ms)":1,"by hand, p99 (ms)":2,"by hand, max (ms)":3,
"a <wait>, p50 (ms)":1500,"a <wait>, p99 (ms)":1600,"a <wait>, max (ms)":1700,"ratio (x)":1.5,"other (x)":9},
"bounds":{"ratio (x)":2.2,"other (x)":5}}"""


class BenchChart(unittest.TestCase):
    def setUp(self):
        directory = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        (directory / "sqlite.json").write_text(RESULTS)
        self.svg = bench_chart.svg([directory / "sqlite.json"])

    def test_is_well_formed_and_has_a_bar_for_each_sample(self):
        page = xml.dom.minidom.parseString(self.svg)
        self.assertEqual(sum(r.getAttribute("class") == "b" for r in page.getElementsByTagName("rect")), 2)
        self.assertIn("p50 1500 ms, p99 1600 ms", self.svg)
        self.assertIn(">sqlite<", self.svg)

    def test_tells_what_holds_from_what_does_not(self):
        self.assertIn('class="ok" x="460"', self.svg)
        self.assertRegex(self.svg, 'class="bad"[^>]*>9, at most 5<')


if __name__ == "__main__":
    unittest.main()

"""All suites, in the order of the page."""

from suites import bf_p4c, bmv2_json, fabric_tna, fourward, oftest, openflow, p4_spectec, p4c, pins, programs, studio

ALL = [*p4c.SUITES, *bf_p4c.SUITES, *studio.SUITES, *fabric_tna.SUITES, *fourward.SUITES, *pins.SUITES, *p4_spectec.SUITES, *programs.SUITES, *bmv2_json.SUITES,
       *openflow.SUITES, *oftest.SUITES]

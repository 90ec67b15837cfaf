"""For pytest, the options of the other test programs: `--only NAME` is `-k NAME`, `--list` is `--collect-only`."""


def pytest_addoption(parser):
    parser.addoption("--only", dest="keyword", metavar="NAME", help="the case of this name, or those that contain it")
    parser.addoption("--list", dest="collectonly", action="store_true", help="print the names of the cases")

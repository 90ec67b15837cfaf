"""The page of a running switch and the playground, in a browser; what `hopwright table` and packets show is the other opinion."""

import os
import pathlib
import subprocess
import tempfile
import threading
import time

import pytest
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

HERE = pathlib.Path(__file__).resolve().parent
from browser import PATIENCE, Browser
from lab.command import HOPWRIGHT, alive, hopwright, wait_until
from lab.netns import ip
from lab.switch import Switch, accepts, ethernet, veth

EXAMPLES = HERE.parents[1] / "crates/apps/page/assets/examples"
PAGE = "127.0.0.1:8080"
HOSTILE = "<img src=x onerror=alert(document.title='hacked')>"
ENTRY = "src=10.0.0.0/8 dst_port=5000 priority=10 => permit(port=2)"


@pytest.fixture(scope="module")
def browser():
    with Browser() as browser:
        yield browser


class Shown(Switch):
    """A switch with a page. Every few milliseconds two UDP packets come in by port 1, to UDP port 5000 from 10.0.0.1 and to UDP port 7
    from 192.168.0.1, and an ARP packet by port 3."""

    def __init__(self, program=EXAMPLES / "acl.p4", *options, writable=True):
        self.writable = writable
        self.token = tempfile.NamedTemporaryFile("r")
        writes = ("--http-write", "--http-token", self.token.name) if writable else ()
        super().__init__(str(program), "--http", PAGE, *writes, *options)

    def __enter__(self):
        super().__enter__()
        # The page comes after P4Runtime, and the token after the page.
        wait_until("a page", lambda: alive(self.process, self.output) and self.is_served())
        self.sending = True
        self.sender = threading.Thread(target=self.traffic)
        self.sender.start()
        return self

    def __exit__(self, *how):
        self.sending = False
        self.sender.join()
        super().__exit__(*how)

    def is_served(self):
        self.token.seek(0)
        self.url = self.token.read().strip() if self.writable else f"http://{PAGE}/"
        return bool(self.url) and accepts(*PAGE.split(":"))

    def traffic(self):
        while self.sending:
            self.send(1, udp("0a000001", 5000))
            self.send(1, udp("c0a80001", 7))
            self.send(3, ethernet("020000000002", "020000000001", 0x0806, bytes(46)))
            time.sleep(0.005)


class Tenants(Shown):
    """A switch with two tenants: `red` gets what port 1 receives, `blue` the rest."""

    def command(self, interfaces):
        self.folder = tempfile.TemporaryDirectory()
        config = pathlib.Path(self.folder.name) / "switch.toml"
        ports = 'ports = { 0 = "sw0", 1 = "sw1", 2 = "sw2" }'
        config.write_text("\n".join([
            f'[switch]\nsocket = "{self.folder.name}/socket"\nports = "af_packet"', *(f'[[port]]\ndevice = "sw{n}"' for n in range(3)),
            f'[[tenant]]\nname = "blue"\nprogram = "{EXAMPLES}/switch.p4"\n{ports}\nmatch = [{{ port = "sw0" }}]\ndevice_id = 2',
            f'[[tenant]]\nname = "red"\nprogram = "{EXAMPLES}/acl.p4"\n{ports}\nmatch = [{{ port = "sw1" }}]\ndevice_id = 1',
            f'[p4runtime]\naddress = "{self.address}"']))
        return [HOPWRIGHT, "switch", "--config", str(config), *self.options]


class Routers:
    """Two RINA routers that are neighbours. The first has a page. Their devices have names with markup."""

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory()
        folder = pathlib.Path(self.folder.name)
        veth("<b>0", "<b>1").close()
        (folder / "dif.key").write_text("a key that only members know\n")
        self.processes, self.logs = [], []
        for number, options in enumerate((["--http", PAGE], [])):
            config = folder / f"rina{number}.toml"
            config.write_text(f"""
[router]
ports = "af_packet"
socket = "{folder}/rina{number}.sock"
[[ipcp]]
name = "member{number}"
dif = "shown"
address = {number + 1}
credential = "dif.key"
[[ipcp.link]]
device = "<b>{number}"
""")
            log = open(folder / f"log{number}", "w+")
            self.logs.append(log)
            self.processes.append(subprocess.Popen([HOPWRIGHT, "rina", "--config", str(config), *options], stderr=log, stdout=log))
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.terminate()
        statuses = [process.wait(PATIENCE) for process in self.processes]
        ip("link", "del", "<b>0")
        for log in self.logs:
            log.seek(0)
            text = log.read()
            assert "panicked" not in text, text
            log.close()
        assert statuses == [0, 0], statuses


def udp(source, port):
    head = bytes.fromhex(f"4500001c0001000040110000{source}0a0a0a0a")
    return ethernet("020000000002", "020000000001", 0x0800, head + bytes.fromhex(f"0400{port:04x}00080000") + bytes(18))


def number(text):
    return int(text.replace(",", ""))


def packets_in(browser):
    """Packets that port 1 has received, as the page shows it."""
    rows = [row.text.split() for row in browser.all("#ports tbody tr")]
    row = next((row for row in rows if row[1] == "sw1"), None)
    return number(row[-6]) if row else 0


def test_counts_move(browser):
    with Shown(writable=False) as switch:
        browser.open(switch.url)
        first = browser.wait(lambda: packets_in(browser), "no packets are counted")
        browser.wait(lambda: packets_in(browser) > first, "the count of packets does not move")
        browser.wait(lambda: len(browser.all(".plot polyline")) == 10 and browser.all(".plot .legend b")[0].text not in ("–", "0"), "the plots show nothing")
        assert browser.text("#access") == "read only"
        # The data of a plot as a table.
        browser.click("summary", "Show the data")
        browser.wait(lambda: len(browser.all(".plot details[open] tbody tr")) > 2, "the plot has no table")
        time_of_row = browser.text(".plot details[open] tbody td")
        assert len(time_of_row.split(":")) == 3
        browser.click("summary", "Show the data")
        browser.check()
        # Without the token nothing can be changed.
        browser.click("nav a", "Tables")
        browser.wait_text("#default", "deny()")
        assert not browser.all("#add")


def test_the_program_has_counts(browser):
    with Shown() as switch:
        hopwright("table", "add", "acl", ENTRY)
        browser.open(switch.url)
        # Not in the address any more, where others might read it.
        assert "token" not in browser.driver.current_url
        browser.click("nav a", "Program")
        browser.wait(lambda: any(e.text.startswith("6") for e in browser.all(".graph .table .count")), "the table is not counted")
        browser.script("arguments[0].focus()", browser.one(".graph .node.table"))
        browser.driver.switch_to.active_element.send_keys(Keys.ENTER)
        assert "acl.apply();" in browser.wait(lambda: browser.text(".source .now"), "no line is marked")
        browser.click("summary", "Show the counts")
        browser.wait(lambda: "AclIngress.acl" in browser.text("#program details[open]"), "there is no table of counts")
        # What a line costs; on a machine whose kernel refuses, the page says so.
        # A few hundred packets a second take less time than lies between two samples, so that a profile may have none of the program.
        def cost_is_shown():
            browser.click("#profile")
            browser.wait(lambda: browser.one("#profile").is_enabled(), "sampling does not end")
            lines, _, tables = browser.text("#program").partition("actions, ns")
            return "ns a packet" in lines and "acl.p4:" in lines and "AclIngress.acl" in tables
        browser.wait(cost_is_shown, "no profile shows a line and the table")
        browser.click("#program button", "parser")
        states = browser.wait(lambda: [e.text for e in browser.all(".graph .state")], "there are no states")
        assert [state.split("\n")[0] for state in states] == ["start", "ipv4", "udp"]
        browser.wait(lambda: browser.all(".graph .state .count")[0].text.startswith("100 %"), "the state start is not counted")
        browser.check()


def test_a_table_is_edited(browser):
    with Shown() as switch:
        browser.open(switch.url)
        browser.click("nav a", "Tables")
        assert browser.wait_text("#access", "tables") == "tables may be changed"
        browser.click("#add")
        browser.fill("hdr.ipv4.src", "10.0.0.0/8")
        browser.fill("hdr.udp.dst_port", "5000..6000")
        browser.fill("priority", "10")
        browser.fill("port", "2")
        browser.click("#save")
        browser.wait_text("#entries", "5000..6000")
        assert "hdr.ipv4.src=10.0.0.0/8 hdr.udp.dst_port=5000..6000 priority=10 => permit(port=2)" in hopwright("table", "show", "acl")
        assert switch.receive(2) == udp("0a000001", 5000)
        # Its counter moves.
        browser.wait(lambda: number(browser.all("#entries tbody td")[4].text) > 0, "the entry's counter stays zero")
        # The program's constraint: nothing below port 1024 from anywhere.
        browser.click("#add")
        browser.fill("hdr.udp.dst_port", "53")
        browser.fill("priority", "1")
        browser.fill("port", "3")
        browser.click("#save")
        assert "restriction" in browser.wait(lambda: browser.text("#refusal"), "the entry is not refused")
        browser.fill("port", "777777")
        browser.click("#save")
        browser.wait_text("#refusal", "does not fit 9 bits")
        assert hopwright("table", "show", "acl").count("=>") == 1
        browser.check()
        browser.click("button", "Cancel")
        # Another client's entry appears by itself.
        hopwright("table", "add", "acl", "dst_port=9000 priority=3 => deny()")
        browser.wait_text("#entries", "9000..9000")
        browser.fill("Search", "5000 permit")
        browser.wait(lambda: "9000" not in browser.text("#entries"), "the search changes nothing")
        browser.click("#entries button", "Edit")
        Select(browser.one("#action")).select_by_visible_text("deny")
        browser.click("#save")
        browser.wait_text("#entries", "No entry contains")
        assert "priority=10 => deny()" in hopwright("table", "show", "acl")
        browser.fill("Search", "")
        browser.driver.switch_to.active_element.send_keys(Keys.BACKSPACE)
        browser.script("document.querySelector('#search').dispatchEvent(new Event('input'))")
        browser.wait_text("#entries", "deny")
        for left in (1, 0):
            browser.click("#entries button", "Delete")
            browser.click("#entries button", "Really?")
            browser.wait(lambda: len(browser.all("#entries tbody tr")) == left, "the entry is not deleted")
        assert "=>" not in hopwright("table", "show", "acl")


def test_a_packet_is_followed(browser):
    with Shown() as switch:
        hopwright("table", "add", "acl", ENTRY)
        browser.open(switch.url)
        browser.click("nav a", "Trace")
        browser.fill("header fields", "ipv4.src=10.0.0.0/8")
        browser.click("#follow")
        browser.wait_text("#trace .steps", "AclIngress.acl")
        steps = browser.all("#trace .steps li")
        hit = next(at for at, step in enumerate(steps) if "hdr.ipv4.src = 10.0.0.1 (ternary 10.0.0.0 &&& 0xff000000)" in step.text)
        # By the keyboard alone.
        listbox = browser.one("#trace .steps")
        for _ in range(hit):
            listbox.send_keys(Keys.ARROW_DOWN)
        assert browser.all("#trace .steps li")[hit].get_attribute("aria-selected") == "true"
        assert "acl.apply();" in browser.text("#trace .source .now")
        assert "sent to port 2" in browser.text("#trace .steps")
        assert browser.all("#trace .graph .passed")
        listbox.send_keys(Keys.HOME)
        browser.check()
        # What cannot match is said.
        browser.fill("header fields", "ipv4.scr=10.0.0.0/8")
        browser.click("#follow")
        browser.wait_text("#trace [role=status]", "no header field")


def test_tenants(browser):
    with Tenants() as switch:
        browser.open(switch.url)
        chosen = Select(browser.one("#tenant"))
        assert [option.text for option in chosen.options] == ["blue", "red"]
        browser.wait_text("#program-name", "switch")
        rows = browser.wait(lambda: [r.text.split() for r in browser.all("#overview .card tbody tr") if r.text.startswith(("blue ", "red "))], "there are no tenants")
        assert [row[0] for row in rows] == ["blue", "red"]
        chosen.select_by_visible_text("red")
        browser.wait_text("#program-name", "acl")
        browser.wait(lambda: packets_in(browser), "no packets are counted")
        browser.click("nav a", "Tables")
        browser.click("#add")
        browser.fill("hdr.ipv4.src", "10.0.0.0/8")
        browser.fill("priority", "1")
        browser.fill("hdr.udp.dst_port", "5000")
        browser.fill("port", "2")
        browser.click("#save")
        browser.wait_text("#entries", "permit")
        assert "permit(port=2)" in hopwright("table", "show", "acl", "--device-id", "1")
        assert switch.receive(2) == udp("0a000001", 5000)
        browser.check()


def test_a_router_alone_shows_its_neighbours_and_tables(browser):
    with Routers() as routers:
        wait_until("a page", lambda: alive(routers.processes[0], lambda: routers.logs[0].name) and accepts(*PAGE.split(":")))
        browser.open(f"http://{PAGE}/")
        assert browser.wait(lambda: browser.text("#access"), "nothing is said of access") == "read only"
        browser.click("nav a", "Router")
        browser.wait(lambda: all(part in browser.text("#router") for part in ("member1", "<b>0", "neighbour", "routes")), "the router is not shown")
        assert not browser.all("#router b")
        browser.click("nav a", "Program")
        # Keep-alives of the neighbour.
        browser.click("#program button", "parser")
        browser.wait(lambda: browser.all(".graph .state .count") and browser.all(".graph .state .count")[0].text.startswith("100 %"), "no packets are counted")
        browser.click("nav a", "Tables")
        browser.wait(lambda: browser.all("#tables tbody tr"), "there are no tables")
        assert not browser.all("#add")
        browser.check()
        browser.picture("router")


def test_hostile_names_are_text(browser):
    text = (EXAMPLES / "acl.p4").read_text().replace("table acl {", f'@name("{HOSTILE}") table acl {{')
    text = text.replace("action permit(", '@name("<script>document.title=1</script>") action permit(')
    with tempfile.NamedTemporaryFile("w", suffix=".p4") as program:
        program.write(text)
        program.flush()
        with Shown(program.name) as switch:
            browser.open(switch.url)
            for view in ("Overview", "Program", "Tables", "Trace"):
                browser.click("nav a", view)
                browser.one(f"#{view.lower()}")
            browser.click("nav a", "Tables")
            browser.wait_text("#tables", "<img")
            browser.fill("Search", HOSTILE)
            browser.wait_text("#entries", "no entries")
            browser.click("#add")
            browser.fill("hdr.ipv4.src", HOSTILE)
            browser.fill("priority", "1")
            Select(browser.one("#action")).select_by_visible_text("deny")
            browser.click("#save")
            browser.wait_text("#refusal", "<img")
            browser.click("nav a", "Trace")
            browser.fill("header fields", HOSTILE.replace(" ", ""))
            browser.click("#follow")
            browser.wait_text("#trace [role=status]", "<img")
            assert [image.get_attribute("src") for image in browser.all("img")] == [f"http://{PAGE}/icon.svg"]
            assert browser.driver.title == "Hopwright" and not browser.all("script:not([src])")
            browser.check()


def test_a_script_in_the_page_would_not_run(browser):
    with Shown() as switch:
        browser.open(switch.url)
        browser.one("#overview")
        browser.script("const s = document.createElement('script'); s.textContent = 'document.title = 1'; document.body.append(s);")
        browser.script("const i = document.createElement('img'); i.setAttribute('onerror', 'document.title = 1'); i.src = '/no'; document.body.append(i);")
        complaints = browser.wait(browser.problems, "the policy allows everything")
        assert any("Content Security Policy" in complaint for complaint in complaints), complaints
        assert browser.driver.title == "Hopwright"


def test_the_page_waits_for_a_switch_that_is_gone(browser):
    with Shown() as switch:
        browser.open(switch.url)
        browser.wait_text("#state", "live")
    browser.wait_text("#notice", "does not answer")
    with Shown():
        browser.wait(lambda: browser.text("#state") == "live" and not browser.text("#notice"), "the page does not recover")
    browser.problems()


def test_pictures(browser):
    """Each view in light and dark: names, contrast, and pictures for people."""
    with Shown() as switch:
        hopwright("table", "add", "acl", ENTRY)
        hopwright("table", "add", "acl", "src=192.168.0.0/16 dst_port=1..9 priority=5 => deny()")
        for scheme in ("light", "dark"):
            browser.open(switch.url, scheme)
            browser.wait(lambda: packets_in(browser), "no packets are counted")
            for view in ("overview", "program", "tables", "trace"):
                browser.click("nav a", view.capitalize())
                if view == "overview" and "SCREENSHOTS" in os.environ:
                    # For people: plots with some points.
                    time.sleep(40)
                if view == "program":
                    browser.wait(lambda: any("%" in e.text for e in browser.all(".graph .count")), "no node is counted")
                    browser.click(".graph .node.table")
                if view == "tables":
                    browser.wait_text("#entries", "permit")
                if view == "trace":
                    browser.fill("header fields", "ipv4.src=10.0.0.0/8")
                    browser.click("#follow")
                    browser.wait_text("#trace .steps", "hit")
                    browser.click("#trace .steps li", "hit")
                browser.check()
                browser.picture(f"{view}-{scheme}")


class Playground:
    """A playground; use it with `with`."""

    def __enter__(self):
        self.log = tempfile.NamedTemporaryFile("w+")
        self.process = subprocess.Popen([HOPWRIGHT, "playground", "--http", "8081"], stderr=self.log)
        output = pathlib.Path(self.log.name).read_text
        wait_until("the playground", lambda: alive(self.process, output) and "playground at" in output())
        return self

    def __exit__(self, *_):
        self.process.terminate()
        assert self.process.wait(PATIENCE) == 0
        assert "panicked" not in pathlib.Path(self.log.name).read_text()


@pytest.fixture(scope="module")
def playground():
    with Playground():
        yield "http://127.0.0.1:8081/"


def program(browser, text):
    """Puts a program into the playground and runs it."""
    browser.wait(lambda: browser.text("#state") not in ("running", "ready"), "the playground does not run")
    browser.script("const s = document.querySelector('#source'); s.value = arguments[0]; s.dispatchEvent(new Event('input'));", text)
    browser.script("document.querySelector('#state').textContent = ''")
    browser.one("#source").send_keys(Keys.CONTROL, Keys.ENTER)
    return browser.wait(lambda: browser.text("#state") not in ("", "running") and browser.text("#state"), "the program is not run")


def test_the_playground(browser, playground):
    browser.open(playground)
    browser.wait_text("#panel", "RouterIngress.routes")
    assert len(browser.all("#panel .steps li")) > 10
    browser.check()
    browser.click("[role=tab]", "Engines")
    browser.wait_text("#panel", "reference")
    rows = [row.text for row in browser.all("#panel .card:first-child tbody tr")]
    assert len(rows) == 3 and all("as expected 2" in row for row in rows), rows
    browser.click("[role=tab]", "Graphs")
    browser.wait_text("#panel", "RouterIngress.routes")
    for name, part in (("machine code", "mov"), ("SystemVerilog", "module"), ("pipeline IR", "parser")):
        Select(browser.one("#listing")).select_by_visible_text(name)
        browser.wait(lambda: name in browser.text("#panel h2") and browser.text("#panel pre"), f"there is no {name}")
        assert part in browser.text("#panel pre"), browser.text("#panel pre")[:500]
    browser.check()


def test_errors_of_the_playground(browser, playground):
    browser.open(playground)
    assert program(browser, "control c() {\n    apply { nothing = 1; }\n}") == "1 error"
    text = browser.wait_text("#panel", "nothing = 1")
    assert "^^^^^^^" in text and "program.p4:2:13" in text, text
    assert [e.text for e in browser.all(".gutter .error")] == ["2"]
    browser.click("#panel button", "Go to line 2")
    assert browser.script("return document.activeElement.id + document.activeElement.selectionStart") == f"source{len('control c() {') + 1 + 12}"
    browser.check()
    secret = tempfile.NamedTemporaryFile("w")
    secret.write("const bit<8> SECRET = 1;")
    secret.flush()
    for name in (secret.name, "/etc/passwd"):
        assert "error" in program(browser, f'#include "{name}"\n')
        text = browser.text("#panel")
        assert "E0001" in text and "SECRET" not in text and "root:" not in text, text
    assert "error" in program(browser, f"{HOSTILE}\n")
    assert len(browser.all("img")) == 1 and browser.driver.title == "Hopwright playground"
    # What would take all time and memory.
    bomb = "\n".join(["#define X0 1 + 1"] + [f"#define X{n} " + " + ".join([f"X{n - 1}"] * 16) for n in range(1, 12)]) + "\nconst int x = X11;\n"
    assert program(browser, bomb) not in ("done", "ready")
    assert any(word in browser.text("#notice") + browser.text("#panel") for word in ("stopped", "E0")), browser.text("body")
    # The server goes on.
    assert program(browser, (EXAMPLES / "switch.p4").read_text()) in ("done", "1 error", "2 errors")


def test_pictures_of_the_playground(browser, playground):
    for scheme in ("light", "dark"):
        browser.open(playground, scheme)
        browser.wait_text("#panel", "RouterIngress.routes")
        browser.click("#panel .steps li", "hit")
        browser.check()
        browser.picture(f"playground-{scheme}")
        browser.click("[role=tab]", "Engines")
        browser.wait_text("#panel", "reference")
        browser.check()
        browser.picture(f"engines-{scheme}")
        program(browser, (EXAMPLES / "router.p4").read_text().replace("hdr.ipv4.ttl - 1", "hdr.ipv4.tll - 1"))
        browser.wait_text("#panel", "tll")
        browser.check()
        browser.picture(f"errors-{scheme}")

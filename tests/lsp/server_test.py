"""The language server as a client of the Language Server Protocol sees it: pytest-lsp, which checks each message against the protocol."""

import asyncio
import json
import os
import pathlib
import subprocess
import time

import pytest
import pytest_lsp
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pytest_lsp import ClientServerConfig, LanguageClient

from lab.command import HOPWRIGHT, ROOT

ROUTER = ROOT / "p4" / "scion" / "border_router.p4"
# Seconds of processor time that a change may take at most, on machines several times as slow as docs/editors.md's, too: what grows with the square
# of a program's size takes longer.
ONE_CHANGE = 0.5
# How long anything may take on a busy machine.
PATIENCE = 60

PROGRAM = """\
#include <core.p4>
#include <v1model.p4>
#include "headers.p4"

// Ports of the switch.
const bit<9> CPU = 64;

struct metadata_t {
    bit<16> length;
}

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.type) {
            0x800: ipv4;
            default: accept;
        }
    }
    state ipv4 {
        meta.length = 20;
        transition accept;
    }
}

control V(inout headers_t hdr, inout metadata_t meta) { apply {} }

control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    /* Sends the packet. */
    action forward(bit<9> port) {
        std.egress_spec = port;
    }
    action drop() {
        mark_to_drop(std);
    }
    table mac {
        key = { hdr.ethernet.dst: exact; }
        actions = { forward; drop; }
        size = 4096;
        default_action = forward(CPU);
    }
    apply {
        if (meta.length == 0) {
            mac.apply();
        }
    }
}

control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) { apply {} }

control C(inout headers_t hdr, inout metadata_t meta) { apply {} }

control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr); } }

V1Switch(P(), V(), I(), E(), C(), D()) main;
"""

HEADERS = """\
header ethernet_t {
    bit<48> dst; // where it goes
    bit<48> src;
    bit<16> type;
}

struct headers_t {
    ethernet_t ethernet;
}
"""


class Project:
    """A folder with a program of two files, the first of which is open."""

    def __init__(self, client, folder):
        self.client, self.folder = client, folder
        self.texts, self.versions = {}, {}
        self.write("program.p4", PROGRAM)
        self.write("headers.p4", HEADERS)

    def write(self, name, text):
        (self.folder / name).write_text(text)
        self.texts[name] = text

    def uri(self, name):
        return (self.folder / name).as_uri()

    def open(self, name, text=None):
        self.texts[name] = self.texts.get(name, "") if text is None else text
        self.versions[name] = 1
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(
            types.TextDocumentItem(self.uri(name), "p4", 1, self.texts[name])))

    def replace(self, name, old, new):
        """Replaces text by an incremental change."""
        text = self.texts[name]
        start = text.index(old)
        change = types.TextDocumentContentChangePartial(
            range=types.Range(position(text, start), position(text, start + len(old))), text=new)
        self.texts[name] = text[:start] + new + text[start + len(old):]
        self.versions[name] += 1
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(
            types.VersionedTextDocumentIdentifier(self.versions[name], self.uri(name)), [change]))

    def at(self, name, needle, inside=0):
        """The parameters of a request at a place: where `needle` begins, and `inside` characters further."""
        return {"text_document": types.TextDocumentIdentifier(self.uri(name)),
                "position": position(self.texts[name], self.texts[name].index(needle) + inside)}

    def slice(self, name, found):
        """The text of a range."""
        lines = self.texts[name].splitlines(keepends=True)
        start, end = found.start, found.end
        if start.line == end.line:
            return lines[start.line][start.character:end.character]
        return lines[start.line][start.character:] + "".join(lines[start.line + 1:end.line]) + lines[end.line][:end.character]

    async def diagnostics(self, name, wanted):
        """The diagnostics of a file, once `wanted` holds for them."""
        end = time.monotonic() + PATIENCE
        while True:
            found = self.client.diagnostics.get(self.uri(name))
            if found is not None and wanted(found):
                return found
            assert time.monotonic() < end, f"diagnostics of {name}: {found}"
            await asyncio.sleep(0.01)


def position(text, offset):
    """The position of an offset, in code units of UTF-16."""
    line = text.count("\n", 0, offset)
    start = text.rfind("\n", 0, offset) + 1
    return types.Position(line, len(text[start:offset].encode("utf-16-le")) // 2)


def codes(diagnostics):
    return [d.code for d in diagnostics]


@pytest_lsp.fixture(config=ClientServerConfig(server_command=[str(HOPWRIGHT), "lsp", "--stdio"]))
async def client(lsp_client: LanguageClient, tmp_path):
    os.environ.setdefault("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "project"
    folder.mkdir()
    capabilities = types.ClientCapabilities(
        text_document=types.TextDocumentClientCapabilities(
            completion=types.CompletionClientCapabilities(completion_item=types.ClientCompletionItemOptions(
                snippet_support=True, documentation_format=[types.MarkupKind.Markdown]))),
        workspace=types.WorkspaceClientCapabilities(configuration=False))
    lsp_client.project = Project(lsp_client, folder)
    await lsp_client.initialize_session(types.InitializeParams(
        capabilities=capabilities, workspace_folders=[types.WorkspaceFolder(folder.as_uri(), "project")]))
    yield
    await lsp_client.shutdown_session()


@pytest.mark.asyncio
async def test_diagnostics_follow_the_text(client):
    p = client.project
    p.open("program.p4")
    await p.diagnostics("program.p4", lambda d: not d)
    p.replace("program.p4", "hdr.ethernet.dst: exact", "hdr.ethernet.dsr: exact")
    [error] = await p.diagnostics("program.p4", len)
    assert (error.code, error.severity, error.source) == ("E0203", types.DiagnosticSeverity.Error, "hopwright")
    assert "did you mean `dst`?" in error.message and p.slice("program.p4", error.range) == "dsr"
    [related] = error.related_information
    assert (related.location.uri, related.message) == (p.uri("headers.p4"), "declared here")
    # What is not saved counts, also in a file that is included.
    p.open("headers.p4")
    p.replace("headers.p4", "bit<48> dst;", "bit<48> dsr;")
    await p.diagnostics("program.p4", lambda d: not d)
    p.replace("headers.p4", "bit<48> src;", "bit<48> src")
    [error] = await p.diagnostics("headers.p4", len)
    assert error.code == "E0111"
    await p.diagnostics("program.p4", lambda d: not d)


@pytest.mark.asyncio
async def test_a_part_of_a_program_is_checked_with_the_program(client):
    p = client.project
    p.open("headers.p4")
    await p.diagnostics("headers.p4", lambda d: not d)
    hover = await client.text_document_hover_async(types.HoverParams(**p.at("headers.p4", "ethernet;")))
    assert "ethernet_t" in hover.contents.value
    # Nobody includes this one; what it needs is elsewhere.
    p.write("alone.p4", "struct s { ethernet_t e; }\n")
    p.open("alone.p4")
    await p.diagnostics("alone.p4", lambda d: not d)
    p.replace("alone.p4", "ethernet_t e;", "ethernet_t e")
    assert codes(await p.diagnostics("alone.p4", len)) == ["E0111"]


@pytest.mark.parametrize("program", ["p4/scion/border_router.p4", "tests/stf/psa_paths.p4", "tests/stf/tna_externs.p4", "tests/stf/tna_ghost.p4"])
@pytest.mark.asyncio
async def test_programs_of_every_architecture_have_the_diagnostics_of_check(client, program):
    path = ROOT / program
    checked = subprocess.run([HOPWRIGHT, "check", "--format", "json", str(path)], capture_output=True, text=True, timeout=PATIENCE)
    found = json.loads(checked.stdout)
    expected = sorted(d["code"] for d in (found if isinstance(found, list) else found["diagnostics"]))
    client.project.texts[program] = path.read_text()
    uri = path.as_uri()
    client.text_document_did_open(types.DidOpenTextDocumentParams(types.TextDocumentItem(uri, "p4", 1, path.read_text())))
    end = time.monotonic() + PATIENCE
    while uri not in client.diagnostics:
        assert time.monotonic() < end
        await asyncio.sleep(0.01)
    assert sorted(c for list in client.diagnostics.values() for c in codes(list)) == expected


@pytest.mark.asyncio
async def test_hover_says_what_a_name_is(client):
    p = client.project
    p.open("program.p4")

    async def hover(name, needle, inside=0):
        found = await client.text_document_hover_async(types.HoverParams(**p.at(name, needle, inside)))
        return found.contents.value

    field = await hover("program.p4", "ethernet.type", 10)
    assert "bits 96–111" in field and "`bit<16>`" in field and "header `ethernet_t`" in field
    assert "where it goes" in await hover("program.p4", "dst: exact")
    table = await hover("program.p4", "mac.apply")
    assert "size `4096`" in table and "`hdr.ethernet.dst`: exact (`bit<48>`)" in table and "`forward`, `drop`" in table
    assert "value `64 (0x40)`" in await hover("program.p4", "CPU);") and "Ports of the switch." in await hover("program.p4", "CPU);")
    assert "Sends the packet." in await hover("program.p4", "forward(CPU")
    assert "112 bits (14 bytes)" in await hover("headers.p4", "ethernet_t")
    assert "mark_to_drop" in await hover("program.p4", "mark_to_drop")


@pytest.mark.asyncio
async def test_definitions_are_files_that_can_be_opened(client):
    p = client.project
    p.open("program.p4")

    async def definition(*place):
        return await client.text_document_definition_async(types.DefinitionParams(**p.at("program.p4", *place)))

    found = await definition("ethernet.dst", 10)
    assert (found.uri, p.slice("headers.p4", found.range)) == (p.uri("headers.p4"), "dst")
    assert (await definition('"headers.p4"', 3)).uri == p.uri("headers.p4")
    state = await definition("ipv4;")
    assert state.range.start.line == PROGRAM[:PROGRAM.index("state ipv4")].count("\n")
    built_in = await definition("mark_to_drop")
    path = pathlib.Path(built_in.uri.removeprefix("file://"))
    line = path.read_text().splitlines()[built_in.range.start.line]
    assert path.name == "v1model.p4" and "mark_to_drop" in line and not os.stat(path).st_mode & 0o222
    ty = await client.text_document_type_definition_async(types.TypeDefinitionParams(**p.at("program.p4", "hdr.ethernet.dst")))
    assert (ty.uri, p.slice("headers.p4", ty.range)) == (p.uri("headers.p4"), "headers_t")


@pytest.mark.asyncio
async def test_references_and_rename_cross_files(client):
    p = client.project
    p.open("program.p4")
    place = p.at("program.p4", "ethernet.dst", 10)
    found = await client.text_document_references_async(types.ReferenceParams(context=types.ReferenceContext(True), **place))
    assert sorted((pathlib.Path(f.uri).name, p.slice(pathlib.Path(f.uri).name, f.range)) for f in found) == [
        ("headers.p4", "dst"), ("program.p4", "dst")]
    highlights = await client.text_document_document_highlight_async(types.DocumentHighlightParams(**p.at("program.p4", "meta.length", 5)))
    assert [h.kind for h in highlights] == [types.DocumentHighlightKind.Write, types.DocumentHighlightKind.Write,
                                            types.DocumentHighlightKind.Read]
    edit = await client.text_document_rename_async(types.RenameParams(new_name="destination", **place))
    assert {pathlib.Path(uri).name: [e.new_text for e in edits] for uri, edits in edit.changes.items()} == {
        "headers.p4": ["destination"], "program.p4": ["destination"]}


@pytest.mark.parametrize("needle, new, why", [
    ("ethernet.dst", "9x", "is not a name"), ("ethernet.dst", "table", "reserved word"), ("ethernet.dst", "src", "src"),
    ("mark_to_drop", "x", "outside the workspace"), ("forward(CPU", "drop", "drop")])
@pytest.mark.asyncio
async def test_a_rename_that_breaks_the_program_is_refused(client, needle, new, why):
    p = client.project
    p.open("program.p4")
    inside = needle.find(".") + 1
    with pytest.raises(JsonRpcException, match=why):
        await client.text_document_rename_async(types.RenameParams(new_name=new, **p.at("program.p4", needle, inside)))


@pytest.mark.parametrize("old, new, expected, not_expected", [
    ("meta.length = 20;", "meta.", {"length"}, {"ethernet", "if"}),
    ("meta.length = 20;", "hdr.ethernet.", {"dst", "src", "type", "isValid", "setValid"}, {"ethernet"}),
    ("meta.length = 20;", "packet.", {"extract", "lookahead", "advance", "length"}, {"emit"}),
    ("transition accept;", "transition ", {"accept", "reject", "start", "ipv4"}, {"mac"}),
    ("dst: exact;", "dst: ", {"exact", "lpm", "ternary", "range"}, {"mac"}),
    ("actions = { forward;", "actions = { ", {"forward", "drop", "NoAction"}, {"mac", "hdr"}),
    ("size = 4096;", "", {"size", "const", "counters", "implementation"}, {"hdr"}),
    ("mac.apply();", "mac.", {"apply"}, {"hit"}),
    ("mac.apply();", "if (mac.apply().", {"hit", "miss", "action_run"}, {"apply"}),
    ("mac.apply();", "", {"if", "switch", "hdr", "meta", "std", "mac", "forward"}, {"table"}),
    ("// Ports", "@", {"name", "hidden"}, {"hdr"}),
    ("<v1model.p4>", "<", {"psa.p4", "tna.p4", "core.p4"}, set()),
    ('"headers.p4"', '"', {"headers.p4"}, {"psa.p4"})])
@pytest.mark.asyncio
async def test_completion_fits_the_place(client, old, new, expected, not_expected):
    p = client.project
    p.open("program.p4")
    start = p.texts["program.p4"].index(old)
    p.replace("program.p4", old, new)
    found = await client.text_document_completion_async(types.CompletionParams(
        text_document=types.TextDocumentIdentifier(p.uri("program.p4")), position=position(p.texts["program.p4"], start + len(new))))
    labels = {item.label for item in found}
    assert expected <= labels, expected - labels
    assert not not_expected & labels


@pytest.mark.asyncio
async def test_errors_leave_symbols_and_completion_of_the_rest(client):
    p = client.project
    p.open("program.p4")
    before = await client.text_document_document_symbol_async(types.DocumentSymbolParams(types.TextDocumentIdentifier(p.uri("program.p4"))))
    p.replace("program.p4", "std.egress_spec = port;", "std.egress_spec = = (port")
    p.replace("program.p4", "state ipv4 {", "state ipv4 { hdr.")
    assert await p.diagnostics("program.p4", len)
    after = await client.text_document_document_symbol_async(types.DocumentSymbolParams(types.TextDocumentIdentifier(p.uri("program.p4"))))

    def names(symbols):
        return {s.name for s in symbols} | {c.name for s in symbols for c in s.children or []}

    assert names(before) == names(after)


@pytest.mark.asyncio
async def test_quick_fixes_make_the_program_correct(client):
    p = client.project
    p.open("program.p4")
    for old, new in [("CPU);", "CPUS);"), ("meta.length == 0", "meta.length = 0"), ("mark_to_drop(std);", "mark_to_drop(std)"),
                     ("hdr.ethernet.dst: exact", "hdr.ethernet.dst: exakt"), ("#include <v1model.p4>\n", "")]:
        p.replace("program.p4", old, new)
        [error, *_] = await p.diagnostics("program.p4", len)
        actions = await client.text_document_code_action_async(types.CodeActionParams(
            text_document=types.TextDocumentIdentifier(p.uri("program.p4")), range=error.range,
            context=types.CodeActionContext(diagnostics=[error])))
        assert actions, error
        [edit] = actions[0].edit.changes[p.uri("program.p4")]
        inserted = edit.range.start == edit.range.end
        assert actions[0].kind == types.CodeActionKind.QuickFix and actions[0].diagnostics[0].code == error.code
        text = p.texts["program.p4"]
        at = sum(len(line) for line in text.splitlines(keepends=True)[:edit.range.start.line]) + edit.range.start.character
        old_text = "" if inserted else p.slice("program.p4", edit.range)
        client.diagnostics.clear()
        change = types.TextDocumentContentChangePartial(range=edit.range, text=edit.new_text)
        p.texts["program.p4"] = text[:at] + edit.new_text + text[at + len(old_text):]
        p.versions["program.p4"] += 1
        client.text_document_did_change(types.DidChangeTextDocumentParams(
            types.VersionedTextDocumentIdentifier(p.versions["program.p4"], p.uri("program.p4")), [change]))
        await p.diagnostics("program.p4", lambda d: not d)


def edited(text, edits):
    """A text after edits of the server, which do not overlap."""
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    at = lambda place: starts[place.line] + place.character  # noqa: E731
    for edit in sorted(edits, key=lambda edit: at(edit.range.start), reverse=True):
        text = text[:at(edit.range.start)] + edit.new_text + text[at(edit.range.end):]
    return text


@pytest.mark.asyncio
async def test_formatting_is_that_of_the_command(client):
    p = client.project
    untidy = PROGRAM.replace("    state ipv4 {\n        meta", "  state ipv4{\n meta").replace("size = 4096;", "size=4096 ;")
    p.write("untidy.p4", untidy)
    p.open("untidy.p4")
    document, options = types.TextDocumentIdentifier(p.uri("untidy.p4")), types.FormattingOptions(tab_size=8, insert_spaces=False)
    edits = await client.text_document_formatting_async(types.DocumentFormattingParams(document, options))
    whole = edited(untidy, edits)
    subprocess.run([HOPWRIGHT, "fmt", p.folder / "untidy.p4"], check=True, timeout=PATIENCE)
    assert whole == (p.folder / "untidy.p4").read_text() != untidy
    # One line alone.
    line = next(number for number, text in enumerate(untidy.splitlines()) if "size" in text)
    edits = await client.text_document_range_formatting_async(types.DocumentRangeFormattingParams(
        document, types.Range(types.Position(line, 0), types.Position(line + 1, 0)), options))
    part = edited(untidy, edits)
    changed = [(old, new) for old, new in zip(untidy.splitlines(), part.splitlines(), strict=True) if old != new]
    assert [new for _, new in changed] == ["        size = 4096;"]
    # What is not P4 text stays, and the server says why.
    p.write("broken.p4", 'const bit<8> A = "\n')
    p.open("broken.p4")
    with pytest.raises(JsonRpcException, match="cannot format"):
        await client.text_document_formatting_async(types.DocumentFormattingParams(types.TextDocumentIdentifier(p.uri("broken.p4")), options))


@pytest.mark.asyncio
async def test_what_another_target_does_not_have(client):
    p = client.project
    p.write("divides.p4", PROGRAM.replace("mac.apply();", "meta.length = meta.length / 3; mac.apply();"))
    p.open("divides.p4")
    await p.diagnostics("divides.p4", lambda d: not d)
    client.workspace_did_change_configuration(types.DidChangeConfigurationParams({"hopwright": {"portable": ["tofino"]}}))
    found = await p.diagnostics("divides.p4", len)
    assert {"W0039", "W0040", "W0042"} <= set(codes(found)), codes(found)
    [division] = [d for d in found if d.code == "W0042"]
    assert division.severity == types.DiagnosticSeverity.Warning and p.slice("divides.p4", division.range) == "meta.length / 3"
    assert "help: shift by a power of two" in division.message
    client.workspace_did_change_configuration(types.DidChangeConfigurationParams({"hopwright": {}}))
    await p.diagnostics("divides.p4", lambda d: not d)


@pytest.mark.asyncio
async def test_what_another_target_does_not_have_is_replaced(client):
    p = client.project
    text = PROGRAM.replace("mac.apply();", "meta.length = meta.length / 4 + meta.length % 16; mac.apply();")
    p.write("divides.p4", text)
    p.open("divides.p4")
    await p.diagnostics("divides.p4", lambda d: not d)
    client.workspace_did_change_configuration(types.DidChangeConfigurationParams({"hopwright": {"portable": ["tofino", "psa"]}}))
    found = await p.diagnostics("divides.p4", len)
    divisions = [d for d in found if d.code == "W0042"]
    assert len(divisions) == 2, codes(found)
    document = types.TextDocumentIdentifier(p.uri("divides.p4"))
    edits = []
    for division in divisions:
        actions = await client.text_document_code_action_async(types.CodeActionParams(
            document, division.range, types.CodeActionContext([division])))
        [action] = [a for a in actions if a.diagnostics[0].code == "W0042"]
        assert action.kind == types.CodeActionKind.QuickFix
        edits.extend(action.edit.changes[p.uri("divides.p4")])
    new = "meta.length = (meta.length >> 2) + (meta.length & 15);"
    assert edited(text, edits) == text.replace("meta.length = meta.length / 4 + meta.length % 16;", new)
    p.replace("divides.p4", "meta.length = meta.length / 4 + meta.length % 16;", new)
    await p.diagnostics("divides.p4", lambda d: d and "W0042" not in codes(d))


@pytest.mark.asyncio
async def test_what_is_shown_beside_the_text(client):
    p = client.project
    p.open("program.p4")
    p.open("headers.p4")
    headers, program = (types.TextDocumentIdentifier(p.uri(name)) for name in ("headers.p4", "program.p4"))
    hints = await client.text_document_inlay_hint_async(types.InlayHintParams(
        text_document=headers, range=types.Range(types.Position(0, 0), types.Position(9, 0))))
    assert [h.label for h in hints] == ["bits 0–47", "bits 48–95", "bits 96–111"]
    tokens = await client.text_document_semantic_tokens_full_async(types.SemanticTokensParams(program))
    assert len(tokens.data) % 5 == 0 and len(tokens.data) > 5 * 50
    folds = await client.text_document_folding_range_async(types.FoldingRangeParams(program))
    assert any(f.kind == types.FoldingRangeKind.Imports for f in folds) and len(folds) > 8
    help = await client.text_document_signature_help_async(types.SignatureHelpParams(**p.at("program.p4", "hdr.ethernet);", 3)))
    assert help.signatures[0].label.startswith("void extract<T>(") and help.active_parameter == 0
    found = await client.workspace_symbol_async(types.WorkspaceSymbolParams("fwd"))
    assert [s.name for s in found] == ["forward"]


@pytest.mark.asyncio
async def test_states_have_a_call_hierarchy(client):
    p = client.project
    p.open("program.p4")
    [state] = await client.text_document_prepare_call_hierarchy_async(types.CallHierarchyPrepareParams(**p.at("program.p4", "ipv4;")))
    [call] = await client.call_hierarchy_incoming_calls_async(types.CallHierarchyIncomingCallsParams(state))
    assert (state.name, call.from_.name, p.slice("program.p4", call.from_ranges[0])) == ("ipv4", "start", "ipv4")
    [call] = await client.call_hierarchy_outgoing_calls_async(types.CallHierarchyOutgoingCallsParams(call.from_))
    assert call.to.name == "ipv4"


@pytest.mark.asyncio
async def test_positions_count_units_of_utf_16(client):
    p = client.project
    text = PROGRAM.replace("apply {} }\n\ncontrol I", "apply { /* 𝄞ä */ meta.lengtj = 1; } }\n\ncontrol I")
    p.open("program.p4", text)
    [error] = await p.diagnostics("program.p4", len)
    line = text.splitlines()[error.range.start.line]
    units = line.encode("utf-16-le")
    assert units[2 * error.range.start.character:2 * error.range.end.character].decode("utf-16-le") == "lengtj"


@pytest.mark.asyncio
async def test_bad_requests_are_answered_by_errors(client):
    p = client.project
    p.open("program.p4")
    document = types.TextDocumentIdentifier(p.uri("program.p4"))
    with pytest.raises(JsonRpcException, match="line 99999"):
        await client.text_document_hover_async(types.HoverParams(document, types.Position(99999, 0)))
    with pytest.raises(JsonRpcException, match="not open"):
        await client.text_document_hover_async(types.HoverParams(types.TextDocumentIdentifier("file:///nowhere.p4"), types.Position(0, 0)))
    with pytest.raises(JsonRpcException, match="not a request"):
        await client.protocol.send_request_async("textDocument/dance", {})
    # A column behind the end of the line is the end of the line.
    assert await client.text_document_hover_async(types.HoverParams(document, types.Position(0, 9999))) is None


class Raw:
    """A connection of bytes."""

    def __init__(self):
        self.server = subprocess.Popen([HOPWRIGHT, "lsp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.kill()
        self.server.wait()
        self.server.stdin.close()
        self.server.stdout.close()

    def write(self, *messages):
        frames = b""
        for message in messages:
            body = message if isinstance(message, bytes) else json.dumps({"jsonrpc": "2.0", **message}).encode()
            frames += b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
        self.server.stdin.write(frames)
        self.server.stdin.flush()

    def read(self):
        length = 0
        while line := self.server.stdout.readline().strip():
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        return json.loads(self.server.stdout.read(length)) if length else None

    def initialize(self):
        self.write({"id": 1, "method": "initialize", "params": {"capabilities": {}}}, {"method": "initialized", "params": {}})
        assert self.read()["result"]["capabilities"]["positionEncoding"] == "utf-16"


def test_garbage_is_answered_by_errors():
    with Raw() as raw:
        raw.write(b"{nonsense")
        assert raw.read()["error"]["code"] == -32700
        raw.server.stdin.write(b"GET / HTTP/1.1\r\n")
        raw.server.stdin.flush()
        assert raw.read()["error"]["code"] == -32700
        raw.write({"id": 7, "method": "textDocument/hover", "params": {}})
        assert raw.read()["error"]["code"] == -32002
        raw.initialize()
        raw.write({"id": 2, "method": "textDocument/hover", "params": {"surprise": 1}})
        assert raw.read()["error"]["code"] == -32602
        raw.write({"id": 3, "method": "shutdown"}, {"method": "exit"})
        assert raw.read()["id"] == 3
        assert raw.server.wait(timeout=PATIENCE) == 0


def test_a_client_that_goes_away_ends_the_server():
    with Raw() as raw:
        raw.initialize()
        raw.server.stdin.close()
        assert raw.server.wait(timeout=PATIENCE) == 1


def test_requests_that_wait_can_be_cancelled():
    with Raw() as raw:
        raw.initialize()
        text = ROUTER.read_text()
        document = {"uri": ROUTER.as_uri(), "languageId": "p4", "version": 1, "text": text}
        place = {"textDocument": {"uri": ROUTER.as_uri()}, "position": {"line": 0, "character": 0}}
        requests = [{"id": 100 + n, "method": "textDocument/completion", "params": place} for n in range(50)]
        # All in one write: the server reads the cancellation while it answers the first.
        raw.write({"method": "textDocument/didOpen", "params": {"textDocument": document}}, *requests,
                  {"method": "$/cancelRequest", "params": {"id": 149}})
        answers = {}
        while len(answers) < 50:
            message = raw.read()
            if "id" in message:
                answers[message["id"]] = message
        assert answers[149]["error"]["code"] == -32800
        assert "result" in answers[100]


def test_one_change_of_a_large_program_is_checked_quickly(tmp_path):
    """A program of more than 5,000 lines: many tables and actions beside the SCION router's declarations."""
    text = large_program()
    assert text.count("\n") > 5000
    path = tmp_path / "large.p4"
    path.write_text(text)
    with Raw() as raw:
        raw.write({"id": 1, "method": "initialize", "params": {"capabilities": {}, "initializationOptions": {"debounce": 0}}})
        assert raw.read()["id"] == 1
        document = {"uri": path.as_uri(), "languageId": "p4", "version": 1, "text": text}
        raw.write({"method": "textDocument/didOpen", "params": {"textDocument": document}})
        assert raw.read()["params"]["diagnostics"] == []
        times = []
        for version in range(2, 12):
            change = {"range": {"start": {"line": 3, "character": 0}, "end": {"line": 3, "character": 0}}, "text": "// x\n"}
            identifier = {"uri": path.as_uri(), "version": version}
            begin = processor_time(raw.server.pid)
            raw.write({"method": "textDocument/didChange", "params": {"textDocument": identifier, "contentChanges": [change]}})
            answer = raw.read()
            times.append(processor_time(raw.server.pid) - begin)
            assert answer["params"]["version"] == version
        print(f"one change of {text.count(chr(10))} lines: {min(times) * 1000:.0f} ms at best, {max(times) * 1000:.0f} ms at worst")
        # The best of ten shows what it costs; what else runs on the machine makes the others slower, even in processor time.
        assert min(times) < ONE_CHANGE


def processor_time(process):
    """Seconds that the first thread of a process has run, which is the one that checks programs."""
    return int(pathlib.Path(f"/proc/{process}/schedstat").read_text().split()[0]) / 1e9


def large_program():
    blocks = []
    for n in range(250):
        blocks.append(f"""\
    action set_{n}(bit<9> port, bit<48> dst) {{
        std.egress_spec = port;
        hdr.ethernet.dst = dst;
        hdr.ethernet.src = hdr.ethernet.dst ^ 48w{n};
        meta.length = meta.length + 16w{n};
    }}
    table table_{n} {{
        key = {{
            hdr.ethernet.dst: exact;
            meta.length: ternary;
        }}
        actions = {{
            set_{n};
            drop;
        }}
        size = {n + 1};
        default_action = drop();
    }}

""")
    applied = "".join(f"        if (meta.length != {n}) {{\n            table_{n}.apply();\n        }}\n" for n in range(250))
    text = PROGRAM.replace('#include "headers.p4"\n', HEADERS)
    return text.replace("    table mac {", "".join(blocks) + "    table mac {").replace("        if (meta.length == 0) {", applied + "        if (meta.length == 0) {")

### Tests

.PHONY: test test-long compile lint unit unit-computing unit-waiting docs stf test-lsp test-dist test-arm64

## test: everything CI checks; REPEAT=N runs it N times, BUSY=N beside N busy loops
test:
	tests/run.py $(if $(REPEAT),--repeat $(REPEAT)) $(if $(BUSY),--busy $(BUSY))

## compile: formatting, clippy, and all tests compiled
compile: lint
	$(CARGO) test --workspace --profile bench --no-run

## lint: formatting, clippy and the pages of the library, warnings denied
# The command and the fuzz targets have no page: with them Cargo chooses the features of libraries that Clippy has compiled.
lint:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --profile bench -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --profile bench -p hopwright -p hopwright-cli -p hopwright-fuzz-targets --lib --no-deps

## unit: all Rust tests, and tests of the test tools
unit: unit-computing unit-waiting

# Rust tests that do nothing but compute: `make test` runs them with the lowest priority beside tests that wait.
unit-computing:
	tests/rust_tests.py --computing

unit-waiting:
	tests/rust_tests.py --waiting
	$(CARGO) run --quiet --locked --manifest-path crates/control/protobuf/generate/Cargo.toml --target-dir $(TARGET)/generate -- --check
	cd tests && python3 -m unittest -q run_test
	cd tests/interop && python3 -m unittest -q braccept_test ledger_test
	cd tests/conformance && python3 -m unittest -q conformance_test
	tests/stf/widths.py --check
	tests/spec/coverage.py --check
	p4/epic/sem_tables.py --check
	tests/int/scion_stf.py --check
	p4/tofino/t_table.py --check
	cd tests/docs && python3 -m unittest -q dependencies_test links_test prose_test runbook_test security_test

## docs: the commands that the documentation names: their flags, their targets, the tests they match
docs: hopwright
	cd tests/docs && python3 -m unittest -q commands_test

## stf: packet tests through the command, with both engines
stf: hopwright
	HOPWRIGHT=$(RELEASE)/hopwright tests/stf/run.sh

## test-lsp: the language server as a client of its protocol sees it; the extension of Visual Studio Code, if npm is there
test-lsp: hopwright
	tests/lsp/setup.sh
	tests/lsp/run.sh
	@! command -v node >/dev/null || node --check editors/vscode/extension.js

## test-arm64: packet tests with both engines, code generation, AES and tables on an emulated 64-bit Arm processor; outside make test
test-arm64:
	$(MAKE) ARCH=arm64 stf
	$(MAKE) ARCH=arm64 test-emulated

# Differential tests of fewer cases: emulation takes twenty times as long.
.PHONY: test-emulated
test-emulated:
	PROPTEST_CASES=16 $(CARGO) test --profile bench $(CROSS) -p hopwright-abi -p hopwright-jit -p hopwright-dataplane

## test-dist: what `make install` installs, and what packages contain
test-dist: hopwright
	tests/packaging/dist_test.py
	tests/packaging/packages_test.py
	tests/packaging/python_test.py

## test-long: what takes longer than CI has: an hour, and simulated hardware (root)
test-long: hopwright interop-tools
	HOPWRIGHT_TIMES=10 HOPWRIGHT_REQUESTS=3000 tests/rust_tests.py --computing
	HOPWRIGHT_FRAMES=1000000 python3 tests/rina/engines_test.py
	$(MAKE) test-rtl-long test-layouts
	tests/interop/underlay_test.py --router "$(ROUTER)"
	tests/interop/underlay_test.py --router "hopwright+ports=af_packet"
	$(MAKE) test-take-over test-releases test-tutorials
	tests/take_over/restart_test.py --only ip --times 100 --kills 100
	tests/openflow/setup.sh
	tests/openflow/run.sh peer peer-features
	tests/ip/setup.sh
	tests/ip/network_test.py --only many_routes --routes 1000000
	tests/ip/carrier_test.py --routes 1000000
	tests/ip/failover_test.py
	$(MAKE) test-ip-links
	tests/p4runtime/setup.sh
	tests/switch/isolation.sh
	bench/congestion.py --check --goodput 0.95
	bench/rina.py --check
	tests/rina/members_test.py --members 60
	$(MAKE) soak

### Hardware

.PHONY: fpga-tools test-rtl rtl-computing rtl-boards formal-rtl synthesis-rtl test-rtl-long test-corundum braccept-rtl

## fpga-tools: verilator, and yosys, nextpnr and solvers in a virtual environment
fpga-tools:
	tests/rtl/setup.sh

## test-rtl: hardware engines against models, small designs against the interpreter, lint of whole designs, images of boards
# With random initial values, gaps and back-pressure, and while tables change. Simulated boards with the kernel and LiteX as peers need root.
test-rtl: rtl-computing rtl-boards

# What only computes, and simulated boards, whose peers wait for answers.
rtl-computing: hopwright
	tests/rtl/run.sh
	tests/rtl/.venv/bin/python tests/rtl/designs.py
	$(CARGO) test --workspace --profile bench --test it -- --ignored _agrees _atomic --skip board::

rtl-boards: hopwright fpga-tools
	tests/rtl/.venv/bin/python tests/rtl/boards.py
	$(CARGO) test --workspace --profile bench --test it -- --ignored board::

## formal-rtl: proofs, without bound, that skid buffers, FIFOs and arbiters lose, duplicate and reorder nothing
formal-rtl: fpga-tools
	tests/rtl/.venv/bin/python tests/rtl/formal.py

## synthesis-rtl: what engines and designs take and reach on an ECP5: the tables of docs/fpga.md; takes hours
synthesis-rtl: fpga-tools
	tests/rtl/.venv/bin/python tests/rtl/synthesis.py
	$(CARGO) build --release -p hopwright-cli
	tests/rtl/.venv/bin/python tests/rtl/programs.py

## test-rtl-long: all packet tests, a million SCION packets, and the border router in a network; some hours
test-rtl-long: braccept-rtl
	tests/rtl/.venv/bin/python tests/rtl/designs.py validator-ecp5 scion-ecp5 openflow-ecp5
	$(CARGO) test --workspace --profile bench --test it -- --ignored the_documentation_says
	HOPWRIGHT_STF=all HOPWRIGHT_SEEDS=0..500 HOPWRIGHT_PACKETS=500000 $(CARGO) test --workspace --profile bench --test it simulation -- --ignored
	HOPWRIGHT_HARDWARE=1 python3 tests/rina/engines_test.py -k hardware
	tests/rina/driven_test.py --only hardware

## test-corundum: a design as the application block of the NIC Corundum, with its own simulation; CORUNDUM=CHECKOUT
test-corundum: hopwright
	tests/rtl/corundum.sh "$(CORUNDUM)"

## braccept-rtl: the reference's acceptance tool and a network with our data plane in simulated hardware
# The network runs again with hardware that runs part of the program; then the cycles of packets back to back.
PART := -D NO_EPIC -D NO_OTHER_KEYS -D PROFILE_ULTRASCALE
braccept-rtl: hopwright interop-tools
	$(TARGET)/release/hopwright rtl p4/scion/border_router.p4 --simulation
	tests/interop/braccept.py --plain --router "hopwright+engine=rtl"
	tests/interop/network_test.py --hardware br111
	$(TARGET)/release/hopwright rtl p4/scion/border_router.p4 $(PART) --simulation
	tests/interop/network_test.py --hardware br111 $(PART)
	python3 tests/rtl/line_rate.py

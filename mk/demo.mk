### Demonstrations

.PHONY: demo demo-switch demo-rina demo-fpga demo-arm64 demo-recording

## demo: three SCION ASes in network namespaces, every border router ours (root)
demo:
	+demo/prepare.py hopwright-scion $(if $(filter hopwright,$(ROUTER)),demo-tools,interop-tools)
	python3 demo/run.py demo --router "$(ROUTER)"
	@$(TARGET)/release/hopwright rina --help >/dev/null 2>&1 || [ "$(ROUTER)" != hopwright ] || \
	  echo "$(TARGET)/release/hopwright has the SCION router and the compiler: make hopwright builds all the rest."

## demo-rina: a leaf-spine of RINA routers and hosts; a spine dies (root)
demo-rina: hopwright
	demo/rina.py

## demo-fpga: the SCION demonstration with a router whose data plane is simulated hardware (root)
demo-fpga: hopwright interop-tools
	@command -v verilator >/dev/null || tests/rtl/setup.sh
	$(TARGET)/release/hopwright rtl p4/scion/border_router.p4 --simulation
	python3 demo/run.py demo --hardware br111 --packets 200

## demo-arm64: the SCION demonstration with all border routers on emulated 64-bit Arm machines; ARM64=FILE: a command built for Arm (root)
# Emulated machines are slow, so there are fewer packets. A command that is given is taken as it is: nothing is compiled for Arm.
ARM64_BUILT := $(TARGET)/aarch64-unknown-linux-gnu/release/hopwright
ARM64 ?= $(ARM64_BUILT)
demo-arm64: demo-tools arm64-tools
	tests/packages.sh qemu-system-aarch64:qemu-system-arm depmod:kmod cpio:cpio
ifeq ($(ARM64),$(ARM64_BUILT))
	$(MAKE) ARCH=arm64 hopwright
endif
	tests/arm64/router.py prepare $(TARGET)/arm64-machine $(ARM64)
	python3 demo/run.py demo --router arm64 --packets 500

## demo-recording: what `make demo` prints as a picture that moves, docs/pictures/demo.svg (root)
demo-recording:
	@cd demo && ../tests/venv.sh
	demo/record.py record $(TARGET)/demo.cast $(MAKE) --no-print-directory demo
	demo/.venv/bin/python demo/record.py draw --title "make demo: three SCION ASes, every border router ours" $(TARGET)/demo.cast docs/pictures/demo.svg

## demo-switch: four routers on one switch, driven by FRR, BIRD, os-ken and finsy (root)
ifneq ($(ROOT),)
demo-switch: hopwright four-routers-clients
	tests/switch/four_routers.py demo
else
demo-switch:
	@echo "make demo-switch needs root: it creates network namespaces." >&2; exit 1
endif

### Building and installing

.PHONY: hopwright dist install interop-tools tools

## hopwright: the command, optimised: target/release/hopwright
# Nothing is built to exercise another router.
hopwright:
ifeq ($(ROUTER),hopwright)
	$(CARGO) build --release -p hopwright
endif

## dist: what is installed: the command without debug information, and that in a file beside it
dist: hopwright
	packaging/dist.sh $(TARGET)/release/hopwright $(TARGET)/dist

## install: the command, its debug information and the systemd units, below $(DESTDIR)$(PREFIX)
install: dist
	install -D -m 755 $(TARGET)/dist/hopwright $(DESTDIR)$(PREFIX)/bin/hopwright
	install -D -m 644 $(TARGET)/dist/hopwright.debug $(DESTDIR)/usr/lib/debug$(PREFIX)/bin/hopwright.debug
	for unit in hopwright-router@.service hopwright-switch.service hopwright-rina@.service; do \
		install -D -m 644 packaging/$$unit $(DESTDIR)/etc/systemd/system/$$unit || exit; done

## interop-tools: the reference's SCION tools, from the Go module pinned in tests/interop/go.mod
interop-tools:
	tests/interop/setup.sh
	tests/interop/tools.sh

## tools: everything that tests talk to: the reference's tools, controllers, routing daemons, hardware tools
# One after the other: packages are installed by one at a time.
tools: | interop-tools
ifneq ($(ROOT),)
	for tool in tutorial p4runtime bfruntime ip openflow rina rtl; do tests/$$tool/setup.sh || exit; done
endif

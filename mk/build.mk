### Building and installing

.PHONY: hopwright dist install interop-tools tools

## hopwright: the command, optimised: target/release/hopwright
# Nothing is built to exercise another router.
hopwright:
ifeq ($(ROUTER),hopwright)
	$(CARGO) build --release -p hopwright-cli
endif

## dist: what is installed: the command without debug information, and that in a file beside it; man pages and completions
dist: hopwright
	packaging/dist.sh $(TARGET)/release/hopwright $(TARGET)/dist

# zsh keeps completions of packages in a folder that distributions choose.
ZSH_COMPLETIONS ?= $(if $(wildcard /etc/debian_version),vendor-completions,site-functions)

## install: the command, its debug information, man pages, completions and systemd units, below $(DESTDIR)$(PREFIX)
install: dist
	install -D -m 755 $(TARGET)/dist/hopwright $(DESTDIR)$(PREFIX)/bin/hopwright
	install -D -m 644 $(TARGET)/dist/hopwright.debug $(DESTDIR)/usr/lib/debug$(PREFIX)/bin/hopwright.debug
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/man/man1 $(TARGET)/dist/man/*.1
	install -D -m 644 $(TARGET)/dist/completions/hopwright.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/hopwright
	install -D -m 644 $(TARGET)/dist/completions/_hopwright $(DESTDIR)$(PREFIX)/share/zsh/$(ZSH_COMPLETIONS)/_hopwright
	install -D -m 644 $(TARGET)/dist/completions/hopwright.fish $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/hopwright.fish
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

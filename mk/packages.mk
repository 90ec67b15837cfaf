### Packages and releases

.PHONY: packages package-deb package-rpm package-image package-wheel package-static package-tools test-packages release publish

PACKAGES := $(TARGET)/packages

## packages: Debian and RPM packages, OCI image and Python wheel: target/packages; the same commit gives the same bytes; ARCH=arm64
packages: package-deb package-rpm package-image package-wheel

## package-deb: hopwright and hopwright-dbg for Debian and Ubuntu
## package-rpm: hopwright and hopwright-debuginfo for Fedora and its relatives; needs rpmbuild
## package-image: OCI image for docker, podman and containerlab; needs busybox-static
## package-wheel: wheel for pip: the command, and the Python package hopwright
package-deb package-rpm package-image package-wheel: dist
	packaging/packages.py --dist $(DIST) --out $(PACKAGES) $(SYSROOT:%=--sysroot %) $(@:package-%=%)

# Images of another architecture have that one's libraries and shell.
ifdef CROSS
SYSROOT := $(TARGET)/sysroot-$(ARCH)
package-image: $(SYSROOT)/complete
$(SYSROOT)/complete:
	packaging/sysroot.sh $(ARCH) $(@D)
endif

## package-static: the command without shared libraries, linked with musl: target/static, with ARCH=arm64 target/static-arm64
STATIC := $(if $(filter arm64,$(ARCH)),aarch64,x86_64)-unknown-linux-musl
export CC_aarch64_unknown_linux_musl ?= aarch64-linux-gnu-gcc
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_LINKER ?= aarch64-linux-gnu-gcc
package-static:
	$(CARGO) build --release -p hopwright-cli --target $(STATIC) $(CROSS_FEATURES)
	packaging/dist.sh $(TARGET)/$(STATIC)/release/hopwright $(TARGET)/static$(if $(CROSS),-$(ARCH))

## package-tools: what making and testing packages needs, from Debian (root)
package-tools:
	tests/packages.sh objcopy:binutils musl-gcc:musl-tools busybox:busybox-static debootstrap:debootstrap lintian:lintian mn:mininet rpmbuild:rpm runc:runc skopeo:skopeo systemd-nspawn:systemd-container

## test-packages: packages installed in a bare Debian 12, which boots; the image in a chroot and with runc; the wheel (root)
# It downloads the Debian.
ifneq ($(ROOT),)
test-packages: packages
	HOPWRIGHT_PACKAGES=$(abspath $(PACKAGES)) tests/packaging/installed_test.py
else
test-packages:
	@echo "SKIPPED: make $@ needs root, because it installs packages in a root of their own: sudo make $@" >&2
endif

## release: the notes of the version in Cargo.toml, from CHANGELOG.md; PUSH=1 tags the commit
release:
	packaging/release.py $(if $(filter 1,$(PUSH)),--push)

## publish: packages every crate and builds the packages, for the registry; DRY_RUN=0 publishes them
# Crates that only our tests use are not published. It needs the registry, and builds everything anew.
DRY_RUN ?= 1
publish:
	$(CARGO) publish --workspace $(if $(filter 0,$(DRY_RUN)),,--dry-run)

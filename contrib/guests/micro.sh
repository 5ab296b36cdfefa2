#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Builds the small guest: Debian's cloud kernel, busybox and dropbear in an initramfs, no disk.
# It answers SSH a few seconds after start even under emulation, and shuts down by ACPI.
#
# The kernel's package is unpacked, not installed; nothing here needs root. Packages needed on the
# host: busybox-static dropbear-bin cpio (contrib/packages.txt).
#
# Kernel command line of the guest:
#   micro.ip=static            10.0.2.15/24, gateway 10.0.2.2: user-mode networking (default)
#   micro.ip=dhcp              ask for a lease (a libvirt network, a bridge)
#   micro.ip=ADDRESS/PREFIX[,GATEWAY]
#   micro.log=ssh              the SSH server logs to the console
#   micro.delay=SECONDS        boots so much slower ("0.35")
#   micro.fault=nossh          never start the SSH server
#   micro.fault=noacpi         ignore the power button
set -euo pipefail
umask 022

usage() {
    cat <<'END'
usage: micro.sh [--refresh] [--folder FOLDER] [--path]

Builds the small guest "micro" into FOLDER:
  vmlinuz initrd.img         kernel and initramfs, booted directly
  id_ed25519 id_ed25519.pub  the key that root may log in with
  host_key.pub               the guest's host key, made at build time
  guest.yaml                 its entry for an inventory

  --refresh        take the newest kernel, even if a guest is there already (keys are kept)
  --folder FOLDER  default: $XDG_CACHE_HOME/vmatrix/guests/micro; without XDG_CACHE_HOME
                   ~/.cache/vmatrix/guests/micro, and for root /var/cache/vmatrix/guests/micro,
                   since the hypervisor's user cannot read root's home
  --path           print FOLDER and end
END
}

fail() {
    echo "micro.sh: $*" >&2
    exit 1
}

default_folder() {
    if [[ -n ${XDG_CACHE_HOME:-} ]]; then
        echo "$XDG_CACHE_HOME/vmatrix/guests/micro"
    elif [[ $(id -u) == 0 ]]; then
        echo /var/cache/vmatrix/guests/micro
    else
        echo "${HOME:?HOME is not set; use --folder}/.cache/vmatrix/guests/micro"
    fi
}

need_program() {
    local program=$1 package=$2
    PATH=$PATH:/usr/sbin:/sbin command -v "$program" ||
        fail "$program is missing: apt-get install $package"
}

# The real package behind the meta package: linux-image-6.1.0-57-cloud-amd64.
kernel_package() {
    LC_ALL=C apt-cache depends --no-recommends --no-suggests linux-image-cloud-amd64 2>/dev/null |
        sed -n 's/^ *Depends: \(linux-image-[0-9].*\)$/\1/p' | head -n 1
}

# Unpack the kernel's package into $work/kernel.
fetch_kernel() {
    local package
    package=$(kernel_package)
    [[ -n $package ]] ||
        fail "apt knows no package linux-image-cloud-amd64: run apt-get update, or add Debian's main"
    echo "micro.sh: kernel $package" >&2
    # Root's temporary folder is closed to the user _apt; the sandbox would only warn about that.
    (cd "$work" && apt-get -qq -o APT::Sandbox::User="$(id -un)" download "$package") ||
        fail "apt-get download $package failed: run apt-get update and try again"
    dpkg-deb -x "$work"/linux-image-*.deb "$work/kernel"
    echo "$package $(dpkg-deb -f "$work"/linux-image-*.deb Version)" >"$work/kernel.version"
}

# Modules in the order they are loaded. The second list comes after the SSH server has started.
readonly MODULES_FIRST=(virtio_ring virtio virtio_pci_modern_dev virtio_pci_legacy_dev virtio_pci
    failover net_failover virtio_net)
readonly MODULES_LATER=(virtio_blk virtio-rng evdev button)

copy_modules() {
    local root=$1 name file
    mkdir -p "$root/lib/modules"
    for name in "${MODULES_FIRST[@]}" "${MODULES_LATER[@]}"; do
        file=$(find "$work/kernel" -name "$name.ko*" -print -quit)
        case $file in
        '') fail "module $name is not in $(cat "$work/kernel.version")" ;;
        *.ko) cp "$file" "$root/lib/modules/$name.ko" ;;
        *.xz) xz -dc "$file" >"$root/lib/modules/$name.ko" ;;
        *) fail "module $file is packed in a way this script does not know" ;;
        esac
    done
}

# A dynamic program with the libraries it needs, at the same paths.
copy_program() {
    local root=$1 program=$2 target=$3 library
    install -D -m 755 "$program" "$root/$target"
    ldd "$program" | grep -o '/[^ ]*' | while read -r library; do
        mkdir -p "$root${library%/*}"
        cp -L "$library" "$root$library"
    done
}

make_init() {
    cat <<END
#!/bin/sh
export PATH=/bin:/sbin:/usr/bin:/usr/sbin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mkdir -p /dev/pts /dev/shm
mount -t devpts devpts /dev/pts
mount -t tmpfs -o mode=1777 tmpfs /dev/shm
mount -t tmpfs -o mode=1777 tmpfs /tmp
mount -t tmpfs -o mode=755 tmpfs /run
ip=static
log=/dev/null
faults=
for word in \$(cat /proc/cmdline); do
    case \$word in
    micro.ip=*) ip=\${word#micro.ip=} ;;
    micro.log=ssh) log=/dev/console ;;
    micro.delay=*) sleep "\${word#micro.delay=}" ;;
    micro.fault=*) faults="\$faults \${word#micro.fault=}" ;;
    esac
done
load() {
    for module; do
        insmod "/lib/modules/\$module.ko" 2>/dev/null || echo "micro: no \$module" >/dev/console
    done
}
load ${MODULES_FIRST[*]}
hostname micro
case " \$faults " in
*" noacpi "*) load virtio_blk virtio-rng ;;
*)
    load ${MODULES_LATER[*]}
    acpid -l /dev/null -p /run/acpid.pid
    ;;
esac
# Last: a guest that answers is at rest, and is not measured while it still boots.
ip link set lo up
case \$ip in
static) ip=10.0.2.15/24,10.0.2.2 ;;
esac
case \$ip in
dhcp) udhcpc -i eth0 -b -t 20 -T 1 -A 1 -s /etc/udhcpc >/dev/null 2>&1 & ;;
*)
    ip addr add "\${ip%,*}" dev eth0
    ip link set eth0 up
    case \$ip in
    *,*) ip route add default via "\${ip#*,}" ;;
    esac
    ;;
esac
case " \$faults " in
*" nossh "*) ;;
*) dropbear -E -r /etc/dropbear/host_key -s -j -k -W 1048576 -P /run/dropbear.pid 2>\$log ;;
esac
read -r up rest </proc/uptime
echo "micro: ready after \$up s" >/dev/console
exec /sbin/init
END
}

make_udhcpc_script() {
    cat <<'END'
#!/bin/sh
case $1 in
bound | renew)
    ip addr flush dev "$interface"
    ip addr add "$ip/${mask:-24}" dev "$interface"
    [ -z "$router" ] || ip route replace default via "${router%% *}"
    ;;
deconfig) ip link set "$interface" up ;;
esac
END
}

# Keys are made once and kept, so that a host key that was enrolled stays valid.
make_keys() {
    local convert=/usr/lib/dropbear/dropbearconvert dropbearkey
    dropbearkey=$(need_program dropbearkey dropbear-bin)
    [[ -x $convert ]] || convert=$(need_program dropbearconvert dropbear-bin)
    if [[ ! -s $folder/id_ed25519 || ! -s $folder/id_ed25519.pub ]]; then
        "$dropbearkey" -t ed25519 -f "$work/client" >/dev/null 2>&1
        "$convert" dropbear openssh "$work/client" "$work/id_ed25519" 2>/dev/null
        public_key "$work/client" vmatrix >"$work/id_ed25519.pub"
        chmod 600 "$work/id_ed25519"
        mv "$work/id_ed25519" "$work/id_ed25519.pub" "$folder/"
    fi
    if [[ ! -s $folder/host_key ]]; then
        "$dropbearkey" -t ed25519 -f "$work/host_key" >/dev/null 2>&1
        chmod 600 "$work/host_key"
        mv "$work/host_key" "$folder/"
    fi
    public_key "$folder/host_key" micro >"$folder/host_key.pub"
}

public_key() {
    "$(need_program dropbearkey dropbear-bin)" -y -f "$1" |
        awk -v comment="$2" '/^ssh-ed25519 / { print $1, $2, comment }'
}

make_root() {
    local root=$1 busybox applet
    busybox=$(need_program busybox busybox-static)
    # ldd tells by its exit code that there is no dynamic section.
    ! ldd "$busybox" >/dev/null 2>&1 || fail "busybox is not static: apt-get install busybox-static"
    mkdir -p "$root"/{bin,sbin,usr/bin,usr/sbin,dev,proc,sys,tmp,run,var,root/.ssh,etc/dropbear,etc/acpi/PWRF}
    ln -s /run "$root/var/run"
    cp "$busybox" "$root/bin/busybox"
    for applet in $("$busybox" --list-full); do
        [[ -e $root/$applet ]] || ln -s /bin/busybox "$root/$applet"
    done
    copy_program "$root" "$(need_program dropbear dropbear-bin)" usr/sbin/dropbear
    copy_modules "$root"
    make_init >"$root/init"
    make_udhcpc_script >"$root/etc/udhcpc"
    printf '#!/bin/sh\nsync\nexec poweroff -f\n' >"$root/etc/acpi/PWRF/00000080"
    chmod 755 "$root/init" "$root/etc/udhcpc" "$root/etc/acpi/PWRF/00000080"
    echo '::ctrlaltdel:/bin/busybox poweroff -f' >"$root/etc/inittab"
    echo 'root:x:0:0:root:/root:/bin/sh' >"$root/etc/passwd"
    echo 'root:x:0:' >"$root/etc/group"
    echo '127.0.0.1 localhost micro' >"$root/etc/hosts"
    cp "$folder/host_key" "$root/etc/dropbear/host_key"
    cp "$folder/id_ed25519.pub" "$root/root/.ssh/authorized_keys"
    chmod 700 "$root/root" "$root/root/.ssh"
    chmod 600 "$root/etc/dropbear/host_key" "$root/root/.ssh/authorized_keys"
}

# Not compressed: under emulation unpacking costs more time than reading.
pack_root() {
    local root=$1 image=$2
    find "$root" -exec touch -h -d @0 {} +
    (cd "$root" && find . -print0 | LC_ALL=C sort -z |
        cpio --null --quiet -o -H newc -R 0:0 --reproducible) >"$image"
}

write_fragment() {
    cat <<END
micro:
  kernel: $folder/vmlinuz
  initrd: $folder/initrd.img
  cmdline: console=ttyS0 quiet panic=-1
  address: forward
  user: root
  key: $folder/id_ed25519
  host-key: $(cut -d ' ' -f 1,2 "$folder/host_key.pub")
  shutdown: acpi
END
}

# What the guest was made from: this script, and the name of the folder, which stands in guest.yaml.
recipe() {
    {
        cat "${BASH_SOURCE[0]}"
        echo "$folder"
    } | sha256sum | cut -d ' ' -f 1
}

is_built() {
    local file
    for file in vmlinuz initrd.img id_ed25519 id_ed25519.pub host_key.pub guest.yaml; do
        [[ -s $folder/$file ]] || return 1
    done
    [[ -s $folder/stamp && $(head -n 1 "$folder/stamp") == "$(recipe)" ]]
}

build() {
    fetch_kernel
    make_keys
    make_root "$work/root"
    pack_root "$work/root" "$work/initrd.img"
    cp "$work"/kernel/boot/vmlinuz-* "$work/vmlinuz"
    chmod 644 "$work/vmlinuz" "$work/initrd.img"
    rm -f "$folder/stamp"
    mv "$work/vmlinuz" "$work/initrd.img" "$folder/"
    write_fragment >"$folder/guest.yaml"
    {
        recipe
        cat "$work/kernel.version"
    } >"$folder/stamp"
}

refresh=no folder='' path_only=no
while (($# > 0)); do
    case $1 in
    --refresh) refresh=yes ;;
    --folder)
        (($# > 1)) || fail "--folder needs a folder"
        folder=$2
        shift
        ;;
    --path) path_only=yes ;;
    -h | --help)
        usage
        exit 0
        ;;
    *)
        usage >&2
        exit 2
        ;;
    esac
    shift
done
[[ -n $folder ]] || folder=$(default_folder)
if [[ $path_only == yes ]]; then
    echo "$folder"
    exit 0
fi
mkdir -p "$folder"
folder=$(cd "$folder" && pwd -P)
exec 9>"$folder/.lock"
flock 9 # two test runs at once build it once
if [[ $refresh == no ]] && is_built; then
    echo "micro.sh: $folder is there ($(sed -n 2p "$folder/stamp"); --refresh takes a newer kernel)" >&2
    exit 0
fi
[[ $(dpkg --print-architecture 2>/dev/null) == amd64 ]] ||
    fail "this guest is built on Debian amd64 only"
work=$(mktemp -d "$folder/.work.XXXXXX")
trap 'rm -rf "$work"' EXIT
build
echo "micro.sh: built $folder ($(sed -n 2p "$folder/stamp"))" >&2

#!/bin/sh
# DIR DOCKERD: keeps a Docker daemon in DIR for the process that holds our standard input. Each line
# of it is an order: start, or kill (as kill -9 does, with containerd). At its end, the daemon and
# its containers end, and DIR is removed.
dir=$1 dockerd=$2

# of_dir SIGNAL: signals dockerd, containerd and the shims.
of_dir() {
	for process in /proc/[0-9]*; do
		case $(tr '\0' ' ' <"$process/cmdline" 2>/dev/null) in
		*keep-docker*) ;;
		*dockerd*"$dir"* | *containerd*"$dir"*) kill -s "$1" "${process#/proc/}" 2>/dev/null ;;
		esac
	done
}

# kill_containers: kills every process in a control group of our containers.
kill_containers() {
	for container in "$dir"/data/containers/*; do
		for procs in /sys/fs/cgroup/*/docker/"${container##*/}"/cgroup.procs \
			/sys/fs/cgroup/docker/"${container##*/}"/cgroup.procs; do
			[ -r "$procs" ] && while read -r pid; do kill -s KILL "$pid" 2>/dev/null; done <"$procs"
		done
	done
}

echo '{}' >"$dir/daemon.json"
while read -r order; do
	case $order in
	start)
		# Their processes may be zombies that nobody reaps, which the daemon takes for running ones.
		rm -f "$dir/docker.pid" "$dir/exec/containerd/containerd.pid"
		"$dockerd" --config-file "$dir/daemon.json" --data-root "$dir/data" --exec-root "$dir/exec" \
			--pidfile "$dir/docker.pid" -H "unix://$dir/docker.sock" --iptables=false --ip6tables=false \
			--ip-forward=false --ip-masq=false --bridge=none --userland-proxy=false \
			--exec-opt native.cgroupdriver=cgroupfs </dev/null >>"$dir/log" 2>&1 &
		;;
	kill)
		for process in /proc/[0-9]*; do
			case $(tr '\0' ' ' <"$process/cmdline" 2>/dev/null) in
			*keep-docker* | *containerd-shim*) ;;
			*dockerd*"$dir"* | *containerd*"$dir"*) kill -s KILL "${process#/proc/}" 2>/dev/null ;;
			esac
		done
		wait
		;;
	esac
done

kill_containers
of_dir TERM
tries=0
while [ "$tries" -lt 100 ] && kill -0 "$(cat "$dir/docker.pid" 2>/dev/null)" 2>/dev/null; do
	sleep 0.1
	tries=$((tries + 1))
done
kill_containers
of_dir KILL
for group in /sys/fs/cgroup/*/docker/*/ /sys/fs/cgroup/docker/*/; do
	[ -d "$dir/data/containers/$(basename "$group")" ] && rmdir "$group" 2>/dev/null
done
awk -v dir="$dir/" 'index($5, dir) == 1 { print $5 }' /proc/self/mountinfo | sort -r | while read -r at; do
	umount -l "$at" 2>/dev/null
done
rm -rf "$dir"

// Starts says for each router.toml on its standard input whether the reference's border router starts with it.
//
// It does what the reference's router does before it takes packets (router/cmd/router, private/app/launcher): it
// reads the file, checks it, reads topology and keys, configures a data plane, which opens the sockets, and listens
// where metrics and API are served. For each line it prints `accept`, or `reject` and why.
package main

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/viper"

	"github.com/scionproto/scion/pkg/log"
	privconfig "github.com/scionproto/scion/private/config"
	"github.com/scionproto/scion/router"
	"github.com/scionproto/scion/router/config"
	"github.com/scionproto/scion/router/control"
	_ "github.com/scionproto/scion/router/underlayproviders/udpip"
)

func main() {
	before := -1
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		err := start(lines.Text())
		if before < 0 {
			before = sockets(0)
		}
		// A data plane that never ran keeps its sockets until it is collected.
		if left := sockets(before); left > before {
			fmt.Fprintln(os.Stderr, left-before, "sockets stay open")
			os.Exit(1)
		}
		if err != nil {
			fmt.Println("reject", strings.ReplaceAll(err.Error(), "\n", " "))
		} else {
			fmt.Println("accept")
		}
	}
}

// sockets collects garbage until at most this many sockets are open, a while at most, and returns their number.
func sockets(wanted int) int {
	count := 0
	for range 1000 {
		runtime.GC()
		count = 0
		entries, _ := os.ReadDir("/proc/self/fd")
		for _, entry := range entries {
			if name, err := os.Readlink("/proc/self/fd/" + entry.Name()); err == nil && strings.HasPrefix(name, "socket:") {
				count++
			}
		}
		if count <= wanted {
			break
		}
		time.Sleep(time.Millisecond)
	}
	return count
}

// start returns why a router does not start; a panic, which ends a router, is a reason, too.
func start(file string) (err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			err = fmt.Errorf("panic: %v", panicked)
		}
	}()
	general := viper.New()
	general.SetConfigType("toml")
	general.SetConfigFile(file)
	if err := general.ReadInConfig(); err != nil {
		return err
	}
	var cfg config.Config
	if err := privconfig.LoadFile(file, &cfg); err != nil {
		return err
	}
	cfg.InitDefaults()
	console := log.Config{Console: log.ConsoleConfig{
		Level:           general.GetString("log.console.level"),
		Format:          general.GetString("log.console.format"),
		StacktraceLevel: general.GetString("log.console.stacktrace_level"),
	}}
	if err := log.Setup(console); err != nil {
		return err
	}
	log.Discard()
	if err := cfg.Validate(); err != nil {
		return err
	}
	controlConfig, err := control.LoadConfig(cfg.General.ID, cfg.General.ConfigDir)
	if err != nil {
		return err
	}
	connector := router.NewConnector(cfg.Router, cfg.Features)
	if err := control.ConfigDataplane(connector, controlConfig); err != nil {
		return err
	}
	for _, address := range []string{cfg.Metrics.Prometheus, cfg.API.Addr} {
		if address == "" {
			continue
		}
		listener, err := net.Listen("tcp", address)
		if err != nil {
			return err
		}
		defer listener.Close()
	}
	return nil
}

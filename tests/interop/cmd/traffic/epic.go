package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/scionproto/scion/pkg/slayers"
	"github.com/scionproto/scion/pkg/slayers/path/epic"
	"github.com/scionproto/scion/pkg/snet"
	snetpath "github.com/scionproto/scion/pkg/snet/path"
)

// unit is that of an EPIC timestamp.
const unit = 21 * time.Microsecond

// spoil has what is done to a packet of each kind after the reference has made it. Routers accept packets for two seconds, and clocks
// that differ by one.
var spoil = map[string]func(*epic.Path){
	"good":   func(*epic.Path) {},
	"phvf":   func(p *epic.Path) { p.PHVF[0] ^= 1 },
	"lhvf":   func(p *epic.Path) { p.LHVF[3] ^= 1 },
	"old":    func(*epic.Path) { time.Sleep(4 * time.Second) },
	"future": func(p *epic.Path) { p.PktID.Timestamp += uint32(10 * time.Second / unit) },
}

// spoiled is an EPIC-HP path whose packets have one fault, or none.
type spoiled struct {
	*snetpath.EPIC
	spoil func(*epic.Path)
}

// SetPath writes the path of the next packet.
func (s spoiled) SetPath(packet *slayers.SCION) error {
	if err := s.EPIC.SetPath(packet); err != nil {
		return err
	}
	path, ok := packet.Path.(*epic.Path)
	if !ok {
		return fmt.Errorf("not a path of type EPIC-HP: %T", packet.Path)
	}
	s.spoil(path)
	return nil
}

// epicPath makes a path of type EPIC-HP from one that the daemon knows the authenticators of.
func epicPath(path snet.Path, kind string) (snet.DataplanePath, error) {
	change, ok := spoil[kind]
	if !ok {
		return nil, fmt.Errorf("unknown kind %q", kind)
	}
	plain, ok := path.Dataplane().(snetpath.SCION)
	if !ok {
		return nil, errors.New("the path is not of type SCION")
	}
	whole, err := snetpath.NewEPICDataplanePath(plain, path.Metadata().EpicAuths)
	if err != nil {
		return nil, err
	}
	return spoiled{whole, change}, nil
}

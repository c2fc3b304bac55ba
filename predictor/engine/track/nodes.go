package track

import "github.com/waitcast/waitcast/internal/codec"

// NodeAsks is a job's request for resources of nodes other than processors, see Request.
type NodeAsks struct {
	GPUType     string
	Nodes, GPUs int
	Memory      int64
	Whole       bool
}

// NodeAsks returns the requested resources of nodes other than processors.
func (r *Request) NodeAsks() NodeAsks {
	return NodeAsks{GPUType: r.GPUType, Nodes: r.Nodes, GPUs: r.GPUs, Memory: r.Memory, Whole: r.Whole}
}

// Code reads or writes a NodeAsks.
func (a *NodeAsks) Code(s *codec.Codec) {
	s.Text(&a.GPUType)
	s.Int(&a.Nodes, &a.GPUs)
	s.Signed(&a.Memory)
	s.Flag(&a.Whole)
}

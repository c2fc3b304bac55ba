package jobscript

import (
	"errors"
	"fmt"
	"strings"
)

// readGPUs reads --gpus, --gpus-per-* and --gres.
func (s *slurmSize) readGPUs() error {
	for _, o := range [...]struct {
		name string
		to   *int
	}{
		{"gpus", &s.gpus}, {"gpus-per-node", &s.gpusNode}, {"gpus-per-task", &s.gpusTask},
		{"gpus-per-socket", &s.gpusSocket},
	} {
		given, ok := s.kept[o.name]
		if !ok {
			continue
		}
		n, kind, err := gpuList(given.value)
		if err != nil {
			return s.fail(given, err, "write --"+o.name+"=2 or type:2")
		}
		if *o.to = n; kind != "" {
			s.request.GPUType = kind
		}
	}
	if given, ok := s.kept["gres"]; ok {
		n, kind, err := gresGPUs(given.value)
		if err != nil {
			return s.fail(given, err, "write --gres=gpu:2 or gpu:type:2")
		}
		if n > 0 {
			s.gpusNode = n
			if kind != "" {
				s.request.GPUType = kind
			}
		}
	}
	if s.gpusSocket > 0 {
		given := s.kept["gpus-per-socket"]
		sockets, err := leastOf(s.kept.value("sockets-per-node"))
		if err != nil {
			return s.fail(given, errors.New("it needs --sockets-per-node"), "give both")
		}
		s.gpusNode = max(s.gpusNode, times(s.gpusSocket, sockets))
	}
	if s.gpus > 0 && s.gpusNode > 0 && s.nodes == 0 { // the GPUs need at least this number of nodes
		s.nodes = (s.gpus-1)/s.gpusNode + 1
		s.nodesMax, s.least = s.nodes, max(s.least, s.nodes)
	}
	if given, ok := s.kept["gpus-per-task"]; ok && s.gpus == 0 && s.tasks == 0 {
		return s.fail(given, errors.New("it needs --ntasks or --gpus"), "give one of them as well")
	}
	tasks := s.tasks
	if tasks == 0 {
		tasks = times(max(s.perNode, 1), max(s.nodes, 1))
	}
	s.request.GPUs = s.allGPUs(tasks)
	if s.request.GPUs == 0 && s.eachG > 0 && s.tasks > 0 { // the number that the tasks need
		s.request.GPUs = (s.tasks-1)/s.eachG + 1
	}
	return nil
}

// allGPUs returns the total number of GPUs of the job.
func (s *slurmSize) allGPUs(tasks int) int {
	switch {
	case s.gpus > 0:
		return s.gpus
	case s.gpusNode > 0:
		return times(s.gpusNode, s.least)
	}
	return times(s.gpusTask, tasks)
}

// gpuList parses 2, volta:2 and volta:2,kepler:1. The returned type is the type of the first part, if it has one.
func gpuList(text string) (int, string, error) {
	total, kind := 0, ""
	for i, item := range strings.Split(text, ",") {
		of, number, typed := strings.Cut(item, ":")
		if !typed {
			of, number = "", item
		}
		n, err := count(number)
		if err != nil {
			return 0, "", err
		}
		if i == 0 {
			kind = of
		}
		total = plus(total, n)
	}
	return total, kind, nil
}

// gresGPUs returns the number of GPUs in a list of name[[:type]:count], such as gpu:kepler:2,license:1, and the first
// type that the list names for them.
func gresGPUs(text string) (int, string, error) {
	total, kind := 0, ""
	for _, item := range list(text) {
		item = strings.TrimPrefix(item, "gres/")
		fields := strings.Split(item, ":")
		if fields[0] != "gpu" {
			continue
		}
		if len(fields) > 3 {
			return 0, "", fmt.Errorf("%q has too many colons", clip(item))
		}
		n, last := 1, fields[len(fields)-1]
		if len(fields) > 1 {
			number, err := count(last)
			switch {
			case err == nil:
				n, fields = number, fields[:len(fields)-1]
			case len(fields) == 3:
				return 0, "", err
			}
		}
		if len(fields) == 2 && kind == "" {
			kind = fields[1]
		}
		total = plus(total, n)
	}
	return total, kind, nil
}

// The CRDs of the Prometheus operator, pinned.
module kubectl-nodepool/monitoring

go 1.26

require github.com/prometheus-operator/prometheus-operator v0.85.0

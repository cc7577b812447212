// The process that holds a pod's namespaces.
module kubectl-nodepool/pause

go 1.26.0

// gopher-lua, in which Argo CD runs health scripts, pinned.
module kubectl-nodepool/argocd

go 1.26.0

require github.com/yuin/gopher-lua v1.1.2

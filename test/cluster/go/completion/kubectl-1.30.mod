// kubectl's completion scripts, of 1.30.
module kubectl-nodepool/completion

go 1.26

require github.com/spf13/cobra v1.7.0

require (
	github.com/inconshreveable/mousetrap v1.1.0 // indirect
	github.com/spf13/pflag v1.0.5 // indirect
)

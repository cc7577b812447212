// Prints kubectl's completion script for a shell. All of it but the licence depends on cobra's version alone, which go.mod
// pins as kubectl 1.36 does, and kubectl-MINOR.mod as that minor version: this builds in seconds, and kubectl in minutes.
// Compared byte for byte with the scripts of kubectl 1.30.14 and 1.36.3.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
)

func main() {
	kubectl := &cobra.Command{Use: "kubectl"}
	var err error
	switch os.Args[1] {
	case "bash":
		err = kubectl.GenBashCompletionV2(os.Stdout, true)
	case "zsh":
		// What kubectl puts before cobra's.
		fmt.Print("#compdef kubectl\ncompdef _kubectl kubectl\n")
		err = kubectl.GenZshCompletion(os.Stdout)
	case "fish":
		err = kubectl.GenFishCompletion(os.Stdout, true)
	default:
		err = fmt.Errorf("no script for %q", os.Args[1])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

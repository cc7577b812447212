// argocd-health runs a health script of Argo CD, its argument, on the JSON object on standard input, and prints its result as JSON.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	lua "github.com/yuin/gopher-lua"
)

func main() {
	var object any
	if err := json.NewDecoder(os.Stdin).Decode(&object); err != nil {
		fail(err)
	}
	// As Argo CD does: no file and no process from a script.
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	for _, open := range []lua.LGFunction{lua.OpenBase, lua.OpenTable, lua.OpenString, lua.OpenMath} {
		state.Push(state.NewFunction(open))
		state.Call(0, 0)
	}
	state.SetGlobal("obj", valueOf(state, object))
	if err := state.DoString(os.Args[1]); err != nil {
		fail(err)
	}
	table, ok := state.Get(-1).(*lua.LTable)
	if !ok {
		fail(fmt.Errorf("the script returns no table"))
	}
	result := map[string]string{}
	table.ForEach(func(key, value lua.LValue) { result[key.String()] = value.String() })
	if err := json.NewEncoder(os.Stdout).Encode(result); err != nil {
		fail(err)
	}
}

func valueOf(state *lua.LState, value any) lua.LValue {
	switch typed := value.(type) {
	case bool:
		return lua.LBool(typed)
	case float64:
		return lua.LNumber(typed)
	case string:
		return lua.LString(typed)
	case []any:
		table := state.NewTable()
		for _, item := range typed {
			table.Append(valueOf(state, item))
		}
		return table
	case map[string]any:
		table := state.NewTable()
		for key, item := range typed {
			table.RawSetString(key, valueOf(state, item))
		}
		return table
	}
	return lua.LNil
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// Command nnp says as whom it runs. Its file belongs to root and is set-uid in the image with which the suite finds out
// whether a container may gain privileges.
package main

import (
	"fmt"
	"os"
)

func main() { fmt.Println("Effective uid:", os.Geteuid()) }

// Search asks a worker for its index, which no browser lets pages from a folder do: there, nothing offers it.
if (location.protocol === "file:") document.documentElement.classList.add("from-a-folder");

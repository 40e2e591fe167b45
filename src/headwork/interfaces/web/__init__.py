"""The workbook in the browser: pages made on the server, and a little JavaScript that they can do without."""

"""What calls give for fake tensors: said in a line each, where torch would run a body or read a size.

`fakes` is the table that a recorder looks up; `elementwise` and `outcomes` answer most calls before it;
`uniform` and `index_ranges` know more of a value than its shape."""

"""`onnxpert fix`: the change of a source with which its model exports unaided, searched and proven.

From the outside in: `fix` is what the command calls; `searching` goes through the changes, `trying` loads
and runs what they give, `plain` is the export they have to get through, `offering` the proof."""

1 2.0 'first|n:2 a:1.5 b |m c:-1
-1 | a b:2
| a:3
0 tag| z

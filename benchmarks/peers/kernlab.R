# kernlab's onlearn (NORMA), where R has it. Reads specifications as the other programs do; the JSON it needs is flat, so that
# it is taken apart by hand. The buffer is larger than the stream, because onlearn fails when the buffer wraps.

value <- function(line, key) {
  found <- regmatches(line, regexec(paste0('"', key, '": ?("[^"]*"|[-0-9.e+]+)'), line))[[1]]
  if (length(found) == 0) NA else gsub('"', "", found[2])
}

number <- function(line, key) as.numeric(value(line, key))

npy <- function(file) {
  # The header of numpy's format says the type, and the shape in row order.
  con <- base::file(file, "rb")
  on.exit(close(con))
  readBin(con, "raw", 8)
  header <- rawToChar(readBin(con, "raw", readBin(con, "integer", 1, 2, endian = "little")))
  size <- if (grepl("<f4", header)) 4 else 8
  text <- regmatches(header, regexec("shape': \\(([^)]*)\\)", header))[[1]][2]
  shape <- as.numeric(strsplit(gsub("[ ]|,$", "", text), ",")[[1]])
  values <- readBin(con, "numeric", prod(shape), size, endian = "little")
  if (length(shape) == 2) matrix(values, nrow = shape[1], byrow = TRUE) else values
}

answer <- function(line) {
  library(kernlab, quietly = TRUE)
  if (value(line, "kind") != "one_pass") stop("kernlab is asked for one pass only")
  folder <- value(line, "data")
  x <- npy(file.path(folder, "train_x.npy"))
  y <- npy(file.path(folder, "train_y.npy"))
  part <- regmatches(line, regexec('"test": ?\\["([a-z]+)", ?([0-9]+), ?([0-9]+)\\]', line))[[1]]
  test_x <- if (part[2] == "train") x else npy(file.path(folder, "test_x.npy"))
  test_y <- if (part[2] == "train") y else npy(file.path(folder, "test_y.npy"))
  rows <- number(line, "rows")
  learn_x <- x[1:rows, ]
  learn_y <- y[1:rows]
  before <- sum(gc(reset = TRUE)[, 2])
  model <- inlearn(
    ncol(x), kernel = "rbfdot", kpar = list(sigma = number(line, "sigma")), type = "classification",
    buffersize = rows + 1
  )
  clock <- proc.time()
  model <- onlearn(model, learn_x, learn_y, nu = number(line, "nu"), lambda = number(line, "lambda"))
  taken <- proc.time() - clock
  memory <- (sum(gc()[, 6]) - before) * 2^20
  some <- (as.numeric(part[3]) + 1):as.numeric(part[4])
  predicted <- sign(predict(model, test_x[some, , drop = FALSE]))
  error <- mean(predicted != test_y[some])
  sprintf(
    '{"wall": %f, "processor": %f, "memory": %.0f, "error": %f}',
    taken[["elapsed"]], taken[["user.self"]] + taken[["sys.self"]], memory, error
  )
}

input <- file("stdin", "r")
while (length(line <- readLines(input, n = 1)) > 0) {
  cat(tryCatch(answer(line), error = function(e) {
    sprintf('{"failed": "%s"}', gsub('["\\\\\n]', " ", conditionMessage(e)))
  }), "\n", sep = "")
}

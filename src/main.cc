#include "cli/command.h"

int main(int argc, char** argv) {
  return narthex::cli::run_command(argc, argv);
}

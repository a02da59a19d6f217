#pragma once

#include "artifact/program.h"
#include "pim/opcode_name.h"

namespace weft {

/// Register arithmetic: sldi, sld, sadd, ssub, smul, saddi, smuli.
[[nodiscard]] constexpr bool is_scalar(Opcode op) { return op >= Opcode::Sldi && op <= Opcode::Smuli; }
[[nodiscard]] constexpr bool is_vector(Opcode op) { return op >= Opcode::Vvadd && op <= Opcode::Vrsl; }
[[nodiscard]] constexpr bool is_two_operand_vector(Opcode op) { return op >= Opcode::Vvadd && op <= Opcode::Vvsra; }
[[nodiscard]] constexpr bool is_transfer(Opcode op) { return op >= Opcode::Ld && op <= Opcode::Sync; }
/// Instructions that a core's reorder buffer tracks; a program must end with one.
[[nodiscard]] constexpr bool is_unit(Opcode op) { return op == Opcode::Mvmul || is_vector(op) || is_transfer(op); }
/// Transfers whose `length` is bytes of the program.
[[nodiscard]] constexpr bool is_transfer_with_size(Opcode op) { return op >= Opcode::Ld && op <= Opcode::Recv; }
/// Unit instructions with a local address in rd (all but wait and sync); ld and st are apart, they hold a pair in one operand.
[[nodiscard]] constexpr bool uses_rd(Opcode op) { return is_unit(op) && op != Opcode::Wait && op != Opcode::Sync; }
/// Unit instructions with a local address in rs1.
[[nodiscard]] constexpr bool uses_rs1(Opcode op) {
    return op == Opcode::Mvmul || is_vector(op) || op == Opcode::Lmv || op == Opcode::St || op == Opcode::Send;
}
/// One-operand vector instructions whose rs2 register holds a number: a stride or a bound.
[[nodiscard]] constexpr bool has_number_in_rs2(Opcode op) {
    return op == Opcode::Vavg || op == Opcode::Vmv || op == Opcode::Vrsu || op == Opcode::Vrsl;
}
[[nodiscard]] constexpr bool names_other_core(Opcode op) { return op == Opcode::Send || op == Opcode::Recv || op == Opcode::Sync; }

}  // namespace weft

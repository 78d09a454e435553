// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Changing stacks. Only what the calling convention asks a function to preserve is saved.
//
//   void* cpu_device_switch(void** save, void* load, void* result)
//     Saves the running stack in *save and goes on where `load` was saved. When this stack goes on,
//     its call returns `result`: then the caller need not keep it.
//   void* cpu_device_start(void** save, void* top, void (*function)(const void*),
//                          const void* argument, void* result)
//     The same, but goes on with function(argument), which never returns, on the empty stack below
//     `top`, a multiple of 16.
//   int cpu_device_guarded_call(void** slot, void (*function)(void*), void* argument)
//     Calls function(argument); 0 when it returns, 1 when cpu_device_abort_to(*slot) ends it.
//   void cpu_device_abort_to(void* slot)
//     Drops every stack in use since the guarded call and returns 1 from it.
//
// The switch ends in a jump, not in a return: the processor predicts returns from a stack of its
// own, which knows nothing of ours.

#if defined(__x86_64__)

    .macro save_registers
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    .endm
    .macro restore_registers
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    .endm

    .text
    .globl cpu_device_switch
    .type cpu_device_switch, @function
    .p2align 4
cpu_device_switch:
    save_registers
    pushq %rdx
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %rax
    restore_registers
    popq %rcx
    jmpq *%rcx
    .size cpu_device_switch, .-cpu_device_switch

    .globl cpu_device_start
    .type cpu_device_start, @function
    .p2align 4
cpu_device_start:
    save_registers
    pushq %r8
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    movq %rcx, %rdi
    xorl %ebp, %ebp
    pushq $0  // where it would return to: debuggers see the end of the stack
    jmpq *%rdx
    .size cpu_device_start, .-cpu_device_start

    .globl cpu_device_guarded_call
    .type cpu_device_guarded_call, @function
    .p2align 4
cpu_device_guarded_call:
    .cfi_startproc
    save_registers
    subq $8, %rsp
    .cfi_def_cfa_offset 64
    movq %rsp, (%rdi)
    movq %rdx, %rdi
    callq *%rsi
    xorl %eax, %eax
.Lleave:
    addq $8, %rsp
    restore_registers
    retq
    .cfi_endproc
    .size cpu_device_guarded_call, .-cpu_device_guarded_call

    .globl cpu_device_abort_to
    .type cpu_device_abort_to, @function
    .p2align 4
cpu_device_abort_to:
    movq %rdi, %rsp
    movl $1, %eax
    jmp .Lleave
    .size cpu_device_abort_to, .-cpu_device_abort_to

#elif defined(__aarch64__)

    .macro save_registers
    stp x19, x20, [sp, #0]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    .endm
    .macro restore_registers
    ldp x19, x20, [sp, #0]
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldp x29, x30, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    .endm

    .text
    .globl cpu_device_switch
    .type cpu_device_switch, %function
    .p2align 4
cpu_device_switch:
    sub sp, sp, #176
    save_registers
    str x2, [sp, #160]
    mov x9, sp
    str x9, [x0]
    mov sp, x1
    restore_registers
    ldr x0, [sp, #160]
    add sp, sp, #176
    br x30
    .size cpu_device_switch, .-cpu_device_switch

    .globl cpu_device_start
    .type cpu_device_start, %function
    .p2align 4
cpu_device_start:
    sub sp, sp, #176
    save_registers
    str x4, [sp, #160]
    mov x9, sp
    str x9, [x0]
    mov sp, x1
    mov x0, x3
    mov x29, #0
    mov x30, #0  // where it would return to: debuggers see the end of the stack
    br x2
    .size cpu_device_start, .-cpu_device_start

    .globl cpu_device_guarded_call
    .type cpu_device_guarded_call, %function
    .p2align 4
cpu_device_guarded_call:
    sub sp, sp, #160
    save_registers
    mov x9, sp
    str x9, [x0]
    mov x0, x2
    blr x1
    mov w0, #0
.Lleave:
    restore_registers
    add sp, sp, #160
    ret
    .size cpu_device_guarded_call, .-cpu_device_guarded_call

    .globl cpu_device_abort_to
    .type cpu_device_abort_to, %function
    .p2align 4
cpu_device_abort_to:
    mov sp, x0
    mov w0, #1
    b .Lleave
    .size cpu_device_abort_to, .-cpu_device_abort_to

#else
#error "The CPU device knows x86-64 and aarch64. Another processor needs its four functions here."
#endif

    .section .note.GNU-stack, "", %progbits

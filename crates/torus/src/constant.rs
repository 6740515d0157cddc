/// The value of a checked constructor of these crates, as a constant: what the constructor refuses does not compile.
///
/// The constructors of shapes, of [`Torus`](crate::Torus), [`Windows`](crate::Windows) and of every model, return a
/// `Result`, since most sizes are known when the program runs. Sizes in flash are known before. The expression is
/// evaluated while the program is compiled, wherever the macro stands, so that there is no panic in the program; an
/// argument that is not constant does not compile either.
///
/// ```
/// use countgrid_torus::{Torus, Windows, constant};
/// const MAP: Torus<2> = constant!(Torus::new([16, 16]));
/// static TABLE: [f32; MAP.cells()] = [0.0; MAP.cells()];
/// const WINDOWS: Windows<2> = constant!(Windows::from_sides([16, 16], [4, 4]));
/// # assert_eq!((TABLE.len(), WINDOWS.volume()), (256, 16));
/// ```
///
/// The compiler gives the reason: here `evaluation panicked: a window is longer than its axis`.
///
/// ```compile_fail,E0080
/// use countgrid_torus::{Windows, constant};
/// const WINDOWS: Windows<2> = constant!(Windows::from_sides([16, 16], [4, 17]));
/// ```
#[macro_export]
macro_rules! constant {
    ($checked:expr $(,)?) => {
        const {
            match $checked {
                ::core::result::Result::Ok(value) => value,
                ::core::result::Result::Err(error) => ::core::panic!("{}", error.constant_reason()),
            }
        }
    };
}
